# memcached with libmemcached's tools: a test of its protocol, a load generator, and files that are stored
# and read back.
memcached -u root -l 127.0.0.1 -p "$PORT" -I 8m -m 256 > server.log 2>&1 &
server=$!
until memcping --servers="127.0.0.1:$PORT" > /dev/null 2>&1; do
  kill -0 $server || { cat server.log; exit 1; }
done
memccapable -t 100 -v -h 127.0.0.1 -p "$PORT" > capable 2>&1
echo "memccapable ended with $?"
grep -v pass capable
memcslap --servers="127.0.0.1:$PORT" --concurrency=4 --execute-number="$AMOUNT" --initial-load=100 \
  --test=get --flush > rates 2>&1 || { cat rates; exit 1; }
for bytes in 1000 10000 100000 1000000; do
  seq 1 "$bytes" | head -c "$bytes" > "item$bytes"
  memccp --servers="127.0.0.1:$PORT" "item$bytes"
  memccat --servers="127.0.0.1:$PORT" "item$bytes" | head -c "$bytes" | cmp - "item$bytes" && echo "$bytes equal"
done
kill $server
wait $server
echo "memcached ended with $?"
