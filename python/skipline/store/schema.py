"""Tables of a store, and its format.

`points` has a row per question and simulator, `numbers` what came out, `sweeps` what was asked, and
`members` the questions of each sweep with the values of its axes. A member refers to its question:
which simulator has answered it, if any, says whether it is there, stale or missing.
"""

# Another number is another format. Stores of format 1 are read, and brought to this one as soon as
# they are written: their points lack what verdicts of experiments need.
FORMAT = 2
OLDEST_FORMAT = 1
KIND = "skipline sweeps"
# How digests of sweeps begin of which not all runs may have been salvaged.
SALVAGED = "salvaged "
NAMES = ("points", "numbers", "sweeps", "members")

TABLES = """
CREATE TABLE meta (kind VARCHAR, format INTEGER, written_by VARCHAR);
CREATE TABLE points (
    point BIGINT, question VARCHAR, simulator VARCHAR, scenario VARCHAR, settings VARCHAR,
    seed UBIGINT, status VARCHAR, error VARCHAR, platform VARCHAR, version VARCHAR,
    settled BOOLEAN, answer VARCHAR, simulated_ns DOUBLE, line_ops UBIGINT, wall_s DOUBLE,
    finished_at TIMESTAMP, provenance VARCHAR, digest VARCHAR, PRIMARY KEY (question, simulator)
);
CREATE TABLE numbers (
    point BIGINT, metric VARCHAR, component VARCHAR, value DOUBLE, ci95 DOUBLE, unit VARCHAR
);
CREATE TABLE sweeps (
    sweep INTEGER, digest VARCHAR, title VARCHAR, scenario VARCHAR, keys VARCHAR, files VARCHAR,
    simulator VARCHAR, started_at TIMESTAMP
);
CREATE TABLE members (
    sweep INTEGER, ordinal INTEGER, question VARCHAR, seed UBIGINT, axes VARCHAR
);
"""

VIEWS = """
CREATE OR REPLACE VIEW answers AS
    SELECT members.sweep, members.ordinal, members.axes, members.seed, members.question,
        points.* EXCLUDE (question, seed),
        points.simulator IS DISTINCT FROM sweeps.simulator AND points.point IS NOT NULL AS stale
    FROM members JOIN sweeps USING (sweep)
    LEFT JOIN points ON points.question = members.question
    QUALIFY row_number() OVER (
        PARTITION BY members.sweep, members.ordinal
        ORDER BY (points.simulator = sweeps.simulator) DESC NULLS LAST, points.finished_at DESC
    ) = 1;
CREATE OR REPLACE VIEW results AS
    SELECT answers.* EXCLUDE (point), points_of.* FROM answers
    JOIN numbers AS points_of ON points_of.point = answers.point;
"""

# From format 1. A view has the columns that its tables had when it was made.
UPGRADE = f"""
ALTER TABLE points ADD COLUMN provenance VARCHAR;
ALTER TABLE points ADD COLUMN digest VARCHAR;
{VIEWS}
"""
