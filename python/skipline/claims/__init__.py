"""The claims of the source papers and what the model says about each.

Reading order: pointers (claims that tests show), collection (which experiment judges which claim,
and whether one is missing), verdicts (how claims came out), failing_claims (what is written about
failing ones), evidence (all of it), view (for people).
"""
