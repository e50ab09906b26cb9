"""Machines as files state them: facts, testbeds, time budgets, and tables of each.

`platform_facts` reads every number with its source and confidence, `testbeds` the settings that
experiments share, `budget` computes times of a packet. Nothing here simulates.
"""
