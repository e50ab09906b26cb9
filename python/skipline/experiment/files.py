"""Names of the files in the directory of an experiment that has run."""

OUTCOME_FILE = "outcome.json"
TABLE_FILE = "results.parquet"
CSV_FILE = "results.csv"
POINTS_FILE = "points.duckdb"
REPORT_FILE = "report.html"
