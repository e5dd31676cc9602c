# Calls a server with Ruby's client.

require "redis"

def check(found, expected)
  raise "#{found.inspect} instead of #{expected.inspect}" unless found == expected
end

client = Redis.new(port: ARGV[0].to_i)
client.flushall
check client.set("a", "1", ex: 100), "OK"
check client.incr("a"), 2
check (1..100).cover?(client.ttl("a")), true
check client.get("none"), nil
check client.mapped_hmset("h", "x" => "1", "y" => "2"), "OK"
check client.hgetall("h"), { "x" => "1", "y" => "2" }
check client.mget("a", "none"), ["2", nil]
check client.scan_each(count: 1).to_a.sort, %w[a h]
replies = client.watch("a") do
  client.multi do |transaction|
    transaction.incr("a")
    transaction.hlen("h")
  end
end
check replies, [3, 2]
check client.pipelined { |pipe| 3.times { |n| pipe.set("p#{n}", n) } }, %w[OK OK OK]
check client.dbsize, 5
check client.info["role"], "master"
check client.config(:get, "save"), { "save" => "" }
begin
  client.lpush("l", "x")
  raise "a list is refused"
rescue Redis::CommandError => error
  check error.message.include?("unknown command"), true
end
