# redis-server with redis-benchmark: values of 1 to 64 KiB. The dataset has the same digest afterwards, and
# after it was saved by a child process and loaded again.
redis-server --port 0 --unixsocket "$PWD/redis" --save '' --appendonly no --dir "$PWD" \
  --enable-debug-command yes --loglevel warning > server.log 2>&1 &
server=$!
asked() { redis-cli -s "$PWD/redis" "$@"; }
until asked ping > /dev/null 2>&1; do kill -0 $server || { cat server.log; exit 1; }; done
redis-benchmark -s "$PWD/redis" -q -c 8 -P 4 -n "$AMOUNT" -d 12000 -t set,get,lpush,lpop,mset \
  > rates 2>&1 || { cat rates; exit 1; }
for bytes in 1000 5000 20000 65000; do
  seq 1 "$bytes" | head -c "$bytes" | asked -x set "text:$bytes"
  asked append "text:$bytes" "$(asked get "text:$bytes")"
  asked bitcount "text:$bytes"
done
asked debug digest
asked bgsave > /dev/null
while [ "$(asked info persistence | grep -c 'rdb_bgsave_in_progress:1')" = 1 ]; do :; done
asked info persistence | grep -o 'rdb_last_bgsave_status:[a-z]*'
asked debug reload
asked debug digest
asked shutdown nosave
wait $server
echo "redis-server ended with $?"
