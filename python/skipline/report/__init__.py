"""Offline HTML reports: one file, no network, figures drawn by the embedded Vega.

A figure is a function of a result table (figures, run_figures); a page arranges figures and
tables (experiment_page, run_page); document makes the HTML file; experiment_directory writes
all files of an experiment.
"""
