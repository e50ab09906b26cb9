# sqlite3: large rows in a file, an index, changes, a rollback, VACUUM and its own check of the file.
sqlite3 file.db "
PRAGMA journal_mode = wal;
PRAGMA cache_size = 200;
CREATE TABLE item (id INTEGER PRIMARY KEY, kind INTEGER, body BLOB);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $AMOUNT)
  INSERT INTO item SELECT i, i % 7, substr(hex(zeroblob(20000)) || i, 1, 5000 + i * 37 % 30000) || i FROM n;
CREATE INDEX by_body ON item (body);
UPDATE item SET body = body || body WHERE kind = 3;
BEGIN; DELETE FROM item WHERE kind < 5; ROLLBACK;
DELETE FROM item WHERE kind = 6;
SELECT kind, count(*), sum(length(body)), max(substr(body, -6)) FROM item GROUP BY kind ORDER BY kind;
SELECT count(*) FROM item a JOIN item b ON a.body = b.body;
SELECT length(group_concat(body, '')) FROM (SELECT body FROM item ORDER BY body DESC);
VACUUM;
PRAGMA integrity_check;
"
sqlite3 file.db .sha3sum
sqlite3 file.db .dump | sha256sum
