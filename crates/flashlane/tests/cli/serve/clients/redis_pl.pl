# Calls a server with Perl's client.

use strict;
use warnings;
use Redis;

sub check {
    my ($found, $expected) = map { defined $_ ? $_ : "undef" } @_;
    die "$found instead of $expected" unless $found eq $expected;
}

my $client = Redis->new(server => "127.0.0.1:$ARGV[0]");
$client->flushall;
check($client->set("a", "1", "EX", 100), "OK");
check($client->incr("a"), 2);
my $ttl = $client->ttl("a");
check($ttl > 0 && $ttl <= 100, 1);
check($client->get("none"), undef);
check($client->hset("h", "x", "1", "y", "2"), 2);
my %hash = $client->hgetall("h");
check(join(" ", map { "$_=$hash{$_}" } sort keys %hash), "x=1 y=2");
my @values = $client->mget("a", "none");
check($values[0], 2);
check($values[1], undef);
my ($cursor, @keys) = (0);
do {
    ($cursor, my $some) = $client->scan($cursor, "COUNT", 1);
    push @keys, @$some;
} while ($cursor ne "0");
check(join(" ", sort @keys), "a h");
$client->watch("a");
$client->multi;
$client->incr("a");
$client->hlen("h");
my @replies = $client->exec;
check("@replies", "3 2");
# Requests in a pipeline, whose replies come to functions.
my @pipelined;
$client->set("p$_", $_, sub { push @pipelined, $_[0] }) for 0 .. 2;
$client->wait_all_responses;
check("@pipelined", "OK OK OK");
check($client->dbsize, 5);
check($client->info->{role}, "master");
my %settings = $client->config("GET", "save");
check($settings{save}, "");
eval { $client->lpush("l", "x"); 1 } and die "a list is refused";
check($@ =~ /unknown command/, 1);
