// biome-ignore-all lint/suspicious/noTemplateCurlyInString: that is how our YAML files name variables
/** Mistakes in a config and a catalogue, and the exact line that each of them gets. */
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import t from 'tap'
import { RULES } from '../../lib/sense/sense.ts'
import { priceSchema } from '../../lib/catalog-file/price-schema.ts'
import { apply, type Change, MISTAKES, SIBLINGS } from './cases.ts'
import { machine, sayOf } from './support.ts'

type Lines = [name: string, refused: string[], warned: string[]]

const LIST = JSON.parse(readFileSync(new URL('../../lib/sense/public-prices.json', import.meta.url), 'utf8')) as {
  date: string
  models: Record<string, number[]>
}
const SONNETS = Object.entries(LIST.models).filter(([name]) => /^claude-(?:\d[\d.]*-)*sonnet(?:-\d[\d.]*)*$/.test(name))
const PLACES = { input: 0, output: 1, cache_read: 2 }
const CNY = 7

const shown = (value: number): string => String(Number(value.toPrecision(3)))

/** What is said of a price of a model `claude-sonnet`, whose family has the prices of the public list. */
function scale(where: string, name: keyof typeof PLACES, amount: number, rule: string): string {
  const prices = SONNETS.map(([, list]) => (list[PLACES[name]] ?? 0) * CNY).filter(one => one > 0)
  const [least, most] = [Math.min(...prices), Math.max(...prices)]
  const off = amount < least ? `${shown(least / amount)} times below` : `${shown(amount / most)} times above`
  return `catalog.yaml:${where}${name}: expected a price in CNY per million tokens of the magnitude of the public price of the family claude-sonnet (${LIST.date}), ¥${shown(least)} to ¥${shown(most)} (this is ${off}), found ${amount} [${rule}]`
}

const SAID_OF_MISTAKES: Lines[] = [
  ['none', [], []],
  [
    'a price per thousand tokens',
    [
      scale('4:44: models[0].price.', 'input', 0.021, 'price_scale'),
      scale('4:59: models[0].price.', 'output', 0.105, 'price_scale'),
    ],
    [],
  ],
  [
    'a price in USD per token',
    [
      scale('4:44: models[0].price.', 'input', 0.000003, 'price_scale'),
      scale('4:62: models[0].price.', 'output', 0.000015, 'price_scale'),
    ],
    [],
  ],
  [
    'no price of output',
    [],
    [
      'catalog.yaml:4:35: models[0].price: expected request, or input and output: without it every request on messages is refused as not priced, found a map [price_missing]',
    ],
  ],
  [
    'no price of input',
    [
      'catalog.yaml:4:35: models[0].price.input: expected a price of input beside the other prices of tokens (0 where it is free), found nothing',
    ],
    [],
  ],
  [
    'input and output swapped',
    [],
    [
      'catalog.yaml:4:57: models[0].price.output: expected a price of output not below that of input (105), found 21 [output_cheaper]',
    ],
  ],
  [
    'everything free',
    [
      "catalog.yaml:4:44: models[0].price.input: expected a price of input above 0, because the upstream is not the operator's own, found 0 [zero_price]",
    ],
    [],
  ],
  [
    'a negative price',
    [
      'catalog.yaml:4:44: models[0].price.input: expected a price in CNY, 0 or more, with at most 6 decimal places, found -21',
    ],
    [],
  ],
  [
    'reading from a cache without writing to it',
    [],
    [
      'catalog.yaml:4:35: models[0].price.cache_write_5m: expected a price of cache_write_5m (and cache_write_1h) beside cache_read: upstreams take more for it than for input, which it costs here, found nothing [cache_write_missing]',
    ],
  ],
  [
    'a cache ten times dearer than input',
    [],
    [
      'catalog.yaml:4:35: models[0].price.cache_write_5m: expected a price of cache_write_5m (and cache_write_1h) beside cache_read: upstreams take more for it than for input, which it costs here, found nothing [cache_write_missing]',
      scale('4:73: models[0].price.', 'cache_read', 210, 'price_unusual'),
      'catalog.yaml:4:73: models[0].price.cache_read: expected at most the price of input (21), found 210 [cache_dearer]',
    ],
  ],
  [
    'a decimal comma',
    [
      'catalog.yaml:4:44: models[0].price.input: expected a price in CNY, 0 or more, with at most 6 decimal places, found "21,5"',
    ],
    [],
  ],
  [
    'a misspelt price',
    ['catalog.yaml:4:48: models[0].price.outptu: expected one of # (did you mean output?), found "outptu"'],
    [],
  ],
  [
    'multiplier 0',
    [
      'catalog.yaml:2:34: groups[0].multiplier: expected a factor above 0: everything is free in this group, and its upstreams are not, found 0 [zero_price]',
    ],
    [],
  ],
  [
    'multiplier 80 for 80 %',
    [],
    [
      'catalog.yaml:2:34: groups[0].multiplier: expected a factor from 0.1 to 10 (80 % is 0.8), found 80 [multiplier_range]',
    ],
  ],
  [
    'multiplier "80%"',
    [
      'catalog.yaml:2:34: groups[0].multiplier: expected a factor, 0 or more, with at most 6 decimal places, found "80%"',
    ],
    [],
  ],
  [
    'multiplier -1',
    ['catalog.yaml:2:34: groups[0].multiplier: expected a factor, 0 or more, with at most 6 decimal places, found -1'],
    [],
  ],
  [
    'a cost above the price',
    [
      'catalog.yaml:6:187: channels[0].cost: expected at most 1, the multiplier of group default: each request there loses money, found 1.5 [below_cost]',
    ],
    [],
  ],
  [
    'a cost above the price in a cheap group',
    [
      'catalog.yaml:6:187: channels[0].cost: expected at most 0.5, the multiplier of group default: each request there loses money, found 0.8 [below_cost]',
    ],
    [],
  ],
  [
    'an address with the whole path',
    [],
    [
      'catalog.yaml:6:27: channels[0].base_url: expected an address without the path of messages, which is appended to it, found "https://api.example.com/v1/messages" [path_in_address]',
    ],
  ],
  [
    'an address without encryption',
    [
      'catalog.yaml:6:27: channels[0].base_url: expected an https:// address: everybody on the way can read the key, found "http://api.example.com" [plain_http]',
    ],
    [],
  ],
  [
    'an address without a scheme',
    [
      'catalog.yaml:6:27: channels[0].base_url: expected an http:// or https:// URL without query, found something else (not shown: a secret)',
    ],
    [],
  ],
  [
    'an address that is this gateway',
    [
      'catalog.yaml:6:27: channels[0].base_url: expected the address of an upstream: listen.main is this gateway itself, found "http://127.0.0.1:22500" [loop]',
    ],
    [],
  ],
  [
    'a kind that does not speak the protocol',
    [
      'catalog.yaml:6:63: channels[0].kind: expected a kind that speaks messages, or its path under paths (openai speaks chat, responses, images, embeddings, moderations, speech, transcriptions), found "openai"',
    ],
    [],
  ],
  [
    'a known host without its kind',
    [],
    [
      'catalog.yaml:6:5: channels[0].kind: expected anthropic, whose host it is: paths and headers depend on it, found nothing [kind_of_host]',
    ],
  ],
  [
    'a key with a space at its end',
    [
      'catalog.yaml:6:102: channels[0].key: expected an upstream key without spaces, found something else (not shown: a secret)',
    ],
    [],
  ],
  [
    'a key with "Bearer"',
    [
      'catalog.yaml:6:102: channels[0].key: expected an upstream key without spaces, found something else (not shown: a secret)',
    ],
    [],
  ],
  [
    'an empty key',
    [
      'catalog.yaml:6:102: channels[0].key: expected an upstream key without spaces, found something else (not shown: a secret)',
    ],
    [],
  ],
  [
    'no key',
    ['catalog.yaml:6:5: channels[0].key: expected an upstream key, or a list of them under keys, found nothing'],
    [],
  ],
  [
    'a placeholder in the place of a key',
    [
      'catalog.yaml:6:102: channels[0].key: expected the key of the upstream, and not a placeholder (variables are written ${NAME}), found something else (not shown: a secret) [placeholder_key]',
    ],
    [],
  ],
  [
    'a variable that is not set',
    ['catalog.yaml:6:102: channels[0].key: expected the environment variable NOT_SET to be set, found "${NOT_SET}"'],
    [],
  ],
  [
    'a variable without braces',
    [
      'catalog.yaml:6:102: channels[0].key: expected the key of the upstream, and not a placeholder (variables are written ${NAME}), found something else (not shown: a secret) [placeholder_key]',
    ],
    [],
  ],
  [
    'a model in other capitals',
    [],
    [
      'catalog.yaml:4:13: models[0].name: expected a model that an enabled channel serves (did you mean Claude-Sonnet?), found "claude-sonnet" [unserved]',
      'catalog.yaml:6:165: channels[0].models[0]: expected a model that has a price (did you mean claude-sonnet?), found "Claude-Sonnet" [unpriced]',
    ],
  ],
  [
    'a misspelt group',
    [
      'catalog.yaml:6:146: channels[0].groups[0]: expected one of the groups default (did you mean default?), found "defualt"',
    ],
    [],
  ],
  ['no largest output, which is no mistake', [], []],
  [
    'a balance of a billion',
    [
      'catalog.yaml:8:28: accounts[0].balance: expected an amount of CNY, 0 or more, with at most 6 decimal places, found 1000000000',
    ],
    [],
  ],
  [
    'a negative balance',
    [
      'catalog.yaml:8:28: accounts[0].balance: expected an amount of CNY, 0 or more, with at most 6 decimal places, found -100',
    ],
    [],
  ],
  [
    'a secret "123"',
    [
      'catalog.yaml:10:39: keys[0].secret: expected a secret that begins with "sk-", without spaces, found something else (not shown: a secret)',
    ],
    [],
  ],
  [
    'a secret test',
    [
      'catalog.yaml:10:39: keys[0].secret: expected a secret that begins with "sk-", without spaces, found something else (not shown: a secret)',
    ],
    [],
  ],
  [
    'a model twice',
    ['catalog.yaml:5:13: models[1].name: expected something else than models[0].name has, found "claude-sonnet"'],
    [],
  ],
  ['a setting twice', ['catalog.yaml:4:82: expected YAML: Map keys must be unique'], []],
  ['a tab', ['catalog.yaml:8:1: expected YAML: Tabs are not allowed as indentation'], []],
  [
    'weight 0 for the only channel',
    [],
    [
      'catalog.yaml:6:189: channels[0].weight: expected a weight above 0 at one of the channels of a model: 0 is for those that are only asked when no other can be, found 0 [only_last]',
    ],
  ],
  [
    'a cap with a sign of currency',
    [
      'catalog.yaml:10:65: keys[0].cap: expected an amount of CNY, 0 or more, with at most 6 decimal places, or { amount, every: day | week | month }, found "¥50"',
    ],
    [],
  ],
  [
    'a network that is none',
    ['catalog.yaml:10:72: keys[0].allow_ips[0]: expected an address or a CIDR, like "10.0.0.0/8", found "10.0.0.0/33"'],
    [],
  ],
  [
    'addresses of clients behind a proxy that is not trusted',
    [],
    [
      'gateway.yaml:1:1: trusted_proxies: expected the address of what speaks TLS in front of the gateway: without it all clients have one address, found nothing [proxy_not_trusted]',
      'catalog.yaml:10:71: keys[0].allow_ips: expected addresses of clients, which are not known: public.main is https, and the proxy that speaks it is not in trusted_proxies, found a list [addresses_behind_proxy]',
    ],
  ],
  [
    'operators on every address',
    [],
    [
      'gateway.yaml:1:64: listen.ops: expected an address of this machine like 127.0.0.1: whoever reaches it can try tokens, and read metrics without one, found "0.0.0.0:22502" [ops_exposed]',
    ],
  ],
  [
    'the internet as a proxy',
    [],
    [
      'gateway.yaml:7:19: trusted_proxies[0]: expected the addresses of your proxies: with these every client chooses the address that limits and logs see, found "0.0.0.0/0" [catch_all_proxies]',
    ],
  ],
  [
    'the token changeme',
    [],
    [
      'gateway.yaml:5:14: admin_token: expected a random token: everybody tries this one first, found something else (not shown: a secret) [weak_token]',
    ],
  ],
  [
    'a short secret',
    [
      'gateway.yaml:6:9: secret: expected a secret of at least 8 characters without spaces, found something else (not shown: a secret)',
    ],
    [],
  ],
  [
    'a store in a folder that does not exist',
    [],
    [
      'gateway.yaml:2:8: store: expected a place in a folder that exists: @/nodir does not, and @/cfg does, found "sqlite:nodir/x.db" [folder_missing]',
    ],
  ],
  [
    'a store of another kind',
    [
      'gateway.yaml:2:8: store: expected "sqlite:PATH" or "mysql://user:password@host:3306/database" (with % / ? # @ in user and password as %25 %2F %3F %23 %40), found something else (not shown: a secret)',
    ],
    [],
  ],
  ['an @ in a password, which is no mistake', [], []],
  [
    'a port twice',
    ['gateway.yaml:1:42: listen.direct: expected another address than listen.main, found "127.0.0.1:22500"'],
    [],
  ],
  [
    'a duration without unit',
    ['gateway.yaml:7:20: timeouts.drain: expected a duration like "250ms", "5s" or "2m", at most 24h, found 60'],
    [],
  ],
  [
    'time-outs shorter than answers',
    [],
    [
      'gateway.yaml:7:19: timeouts.main: expected at least 30s, or 0s: whole answers take longer than this, found "10s" [short_waits]',
      'gateway.yaml:7:36: timeouts.first_byte: expected at least 60s: models that think take longer than this, found "5s" [short_waits]',
    ],
  ],
  ['a small rate, which is no mistake', [], []],
  ['a rate as a number', ['gateway.yaml:7:17: limits.rate: expected a map, found a single value'], []],
  [
    'a zone of half hours',
    [
      'gateway.yaml:7:7: zone: expected the name of a time zone that is whole hours from UTC, like "Asia/Shanghai" or "UTC", found "Asia/Kolkata"',
    ],
    [],
  ],
  [
    'a misspelt zone',
    [
      'gateway.yaml:7:7: zone: expected the name of a time zone that is whole hours from UTC, like "Asia/Shanghai" or "UTC", found "Asia/Bejing"',
    ],
    [],
  ],
  [
    'usage kept for an hour',
    ['gateway.yaml:7:18: usage_retention: expected `0s`, or at least a day: settlements may come late, found "1h"'],
    [],
  ],
  [
    '64 workers',
    [],
    ['gateway.yaml:7:10: workers: expected at most 8, twice the cores of this machine, found 64 [many_workers]'],
  ],
  ['no such catalogue', ['gateway.yaml:4:10: catalog: expected a file, found a list'], []],
  [
    'a price of pictures on a protocol of text',
    [],
    [
      'catalog.yaml:4:35: models[0].price: expected request, or input and output: without it every request on messages is refused as not priced, found a map [price_missing]',
    ],
  ],
  [
    'a budget for a period that is none',
    [
      'catalog.yaml:8:41: accounts[0].budget: expected an amount of CNY, 0 or more, with at most 6 decimal places, or { amount, every: day | week | month }, found a map',
    ],
    [],
  ],
  ['an empty catalogue', [], ['catalog.yaml:1:1: expected channels and models: the file is empty [nothing_there]']],
]
const SAID_OF_SIBLINGS: Lines[] = [
  [
    'prices a thousand times too dear',
    [
      scale('4:44: models[0].price.', 'input', 21000, 'price_scale'),
      scale('4:59: models[0].price.', 'output', 105000, 'price_scale'),
    ],
    [],
  ],
  ['one price in fen', [], [scale('4:56: models[0].price.', 'output', 10500, 'price_unusual')]],
  [
    'one price per thousand tokens',
    [scale('4:56: models[0].price.', 'output', 0.105, 'price_scale')],
    [
      'catalog.yaml:4:56: models[0].price.output: expected a price of output not below that of input (21), found 0.105 [output_cheaper]',
    ],
  ],
  [
    'only the output is free',
    [
      "catalog.yaml:4:56: models[0].price.output: expected a price of output above 0, because the upstream is not the operator's own, found 0 [zero_price]",
    ],
    [],
  ],
  [
    'a search at the price of a thousand',
    [],
    [
      'catalog.yaml:4:73: models[0].price.web_search: expected a price in CNY per piece of the magnitude of what upstreams ask for it, ¥0.005 to ¥2 (this is 35 times above), found 70 [price_unusual]',
    ],
  ],
  [
    'large prompts cheaper',
    [],
    [
      'catalog.yaml:4:93: models[0].price.over[0].input: expected at least the usual price of input (21), found 4.2 [over_cheaper]',
    ],
  ],
  [
    'a tier of 200 for 2.00',
    [],
    [
      'catalog.yaml:4:80: models[0].price.tiers.priority: expected a factor above 0 and at most 10, found 200 [tier_factor]',
    ],
  ],
  [
    'a cost of 62 for 62 %',
    [
      'catalog.yaml:6:187: channels[0].cost: expected at most 1, the multiplier of group default: each request there loses money, found 62 [below_cost]',
    ],
    [],
  ],
  [
    'a cost by model above its price',
    [
      'catalog.yaml:6:225: channels[0].cost.claude-sonnet.output: expected at most 105, what the model costs in group default: each request there loses money, found 110 [below_cost]',
    ],
    [],
  ],
  [
    'multiplier 0.05',
    [],
    [
      'catalog.yaml:2:34: groups[0].multiplier: expected a factor from 0.1 to 10 (80 % is 0.8), found 0.05 [multiplier_range]',
    ],
  ],
  [
    'an address that is this gateway by its public name',
    [
      'catalog.yaml:6:27: channels[0].base_url: expected the address of an upstream: public.main is this gateway itself, found "https://gw.example.com/v1" [loop]',
    ],
    [],
  ],
  [
    'an address that is a listener on every address',
    [
      'catalog.yaml:6:27: channels[0].base_url: expected the address of an upstream: listen.direct is this gateway itself, found "http://localhost:22501/v1" [loop]',
    ],
    [],
  ],
  [
    'a placeholder in angle brackets',
    [
      'catalog.yaml:6:102: channels[0].key: expected the key of the upstream, and not a placeholder (variables are written ${NAME}), found something else (not shown: a secret) [placeholder_key]',
    ],
    [],
  ],
  [
    'a key of x',
    [
      'catalog.yaml:6:102: channels[0].key: expected the key of the upstream, and not a placeholder (variables are written ${NAME}), found something else (not shown: a secret) [placeholder_key]',
    ],
    [],
  ],
  [
    'one of several keys not filled in',
    [
      'catalog.yaml:6:155: channels[0].keys[1].key: expected the key of the upstream, and not a placeholder (variables are written ${NAME}), found something else (not shown: a secret) [placeholder_key]',
    ],
    [],
  ],
  [
    'the kind of another provider',
    [],
    [
      'catalog.yaml:6:61: channels[0].kind: expected deepseek, whose host it is: paths and headers depend on it, found "anthropic" [kind_of_host]',
    ],
  ],
  [
    'a channel without models',
    [],
    [
      'catalog.yaml:4:13: models[0].name: expected a model that an enabled channel serves, found "claude-sonnet" [unserved]',
      'catalog.yaml:6:164: channels[0].models: expected at least one model: this channel is never chosen, found a list [no_models]',
    ],
  ],
  [
    'a short secret of a key',
    [],
    [
      'catalog.yaml:10:39: keys[0].secret: expected at least 16 characters, because strangers try short ones, found something else (not shown: a secret) [short_secret]',
    ],
  ],
  [
    'a key that has expired',
    [],
    [
      'catalog.yaml:10:72: keys[0].expires_at: expected a time to come, or status: disabled, found "2029-01-01T00:00:00Z" [expired_key]',
    ],
  ],
  [
    'a key for no model',
    [],
    [
      'catalog.yaml:10:68: keys[0].models: expected at least one entry, because nobody can use a key with an empty list, found a list [empty_list]',
    ],
  ],
  [
    'changeme for everybody',
    [
      'gateway.yaml:5:14: admin_token: expected a random token: strangers try this one, and listen.ops is beyond this machine, found something else (not shown: a secret) [default_token]',
    ],
    [
      'gateway.yaml:1:64: listen.ops: expected an address of this machine like 127.0.0.1: whoever reaches it can try tokens, and read metrics without one, found "0.0.0.0:22502" [ops_exposed]',
    ],
  ],
  [
    '12345678 for everybody',
    [
      'gateway.yaml:5:14: admin_token: expected a random token: strangers try this one, and listen.ops is beyond this machine, found something else (not shown: a secret) [default_token]',
    ],
    [
      'gateway.yaml:1:64: listen.ops: expected an address of this machine like 127.0.0.1: whoever reaches it can try tokens, and read metrics without one, found "10.0.0.5:22502" [ops_exposed]',
    ],
  ],
  [
    'a secret that is the token',
    [],
    [
      'gateway.yaml:6:9: secret: expected another text than admin_token, which more people know, found something else (not shown: a secret) [same_secret]',
    ],
  ],
  [
    'a secret that can be guessed',
    [],
    [
      'gateway.yaml:6:9: secret: expected a random secret of at least 12 characters: the keys of all upstreams are sealed with it, found something else (not shown: a secret) [weak_token]',
    ],
  ],
  [
    'half of the internet as a proxy',
    [],
    [
      'gateway.yaml:7:19: trusted_proxies[0]: expected the addresses of your proxies: with these every client chooses the address that limits and logs see, found "0.0.0.0/1" [catch_all_proxies]',
      'gateway.yaml:7:32: trusted_proxies[1]: expected the addresses of your proxies: with these every client chooses the address that limits and logs see, found "::/0" [catch_all_proxies]',
    ],
  ],
  [
    'a proxy that is not trusted',
    [],
    [
      'gateway.yaml:1:1: trusted_proxies: expected the address of what speaks TLS in front of the gateway: without it all clients have one address, found nothing [proxy_not_trusted]',
    ],
  ],
  [
    'a public address without encryption',
    [],
    [
      'gateway.yaml:7:17: public.main: expected an https:// address: everybody on the way can read keys and answers, found "http://gw.example.com" [public_http]',
    ],
  ],
  [
    'bodies of 1 MiB',
    [],
    [
      'gateway.yaml:7:17: limits.body: expected at least 8MiB: coding tools send whole files and pictures, found "1MiB" [small_body]',
    ],
  ],
  [
    'no keep-alive',
    [],
    [
      'gateway.yaml:7:20: keepalive.main: expected at most 55s: proxies close a connection on which nothing has come for a minute, found "0s" [long_silence]',
    ],
  ],
  [
    'books in memory',
    [],
    [
      'gateway.yaml:2:8: store: expected a file: every balance is gone when the process ends, found "sqlite::memory:" [books_in_memory]',
    ],
  ],
  [
    'a disk that is not mounted',
    [],
    [
      'gateway.yaml:3:10: journal: expected a place in a folder that exists: @/unmounted does not, and @/cfg does, found "unmounted/journal" [folder_missing]',
    ],
  ],
  [
    'a kind of which no stream was recorded',
    [],
    [
      'catalog.yaml:6:61: channels[0].kind: expected a kind whose streams were tried: compare what its first requests cost with its bill, found "fireworks" [unrecorded]',
    ],
  ],
  [
    'no largest output of a model that clients of messages reach by translation only',
    [],
    [
      'catalog.yaml:4:5: models[0].max_output: expected the most tokens that the model writes: clients of messages ask for up to 128000, found nothing [max_output_missing]',
    ],
  ],
  [
    'a rule that is none',
    [],
    ['catalog.yaml:1:10: accept[0]: expected one of @ (did you mean zero_price?), found "zero_prise" [accept]'],
  ],
]

/** Names of rules and folders of this machine are not repeated in the table. */
const whole = (line: string): string =>
  line
    .replace('one of @', `one of ${RULES.map(({ name }) => name).join(', ')}`)
    .replace('one of #', `one of ${Object.keys(priceSchema.shape).join(', ')}`)
    .replaceAll('@/', `${resolve('.')}/`)

for (const [what, cases, expected] of [
  ['mistakes', MISTAKES, SAID_OF_MISTAKES],
  ['their siblings', SIBLINGS, SAID_OF_SIBLINGS],
] as const)
  t.test(`${what}, and what is said of them`, async t => {
    t.same(
      cases.map(([name]) => name),
      expected.map(([name]) => name),
    )
    for (const [i, [name, change]] of cases.entries()) {
      const [, refused, warned] = expected[i] as Lines
      const said = sayOf(...apply(change), machine(/nodir|unmounted/))
      t.same(said, { refused: refused.map(whole), warned: warned.map(whole) }, name)
    }
  })

t.test('most of them are found by rules, and not by the schema', async t => {
  const byRule = (lines: Lines[]) => lines.filter(([, ...said]) => said.flat().some(line => /\[[a-z_]+\]$/.test(line)))
  t.ok(MISTAKES.length >= 65 && SIBLINGS.length >= 15)
  t.ok(byRule([...SAID_OF_MISTAKES, ...SAID_OF_SIBLINGS]).length >= 40)
  const silent = SAID_OF_MISTAKES.filter(([, refused, warned]) => refused.length + warned.length === 0)
  t.same(
    silent.map(([name]) => name).filter(name => !/no mistake$/.test(name)),
    ['none'],
    'nothing is said only where nothing is wrong',
  )
})

t.test('what is refused is warned of with --force', async t => {
  const changes: Change[] = [...MISTAKES, ...SIBLINGS].map(([, change]) => change)
  for (const change of changes) {
    const said = sayOf(...apply(change), machine())
    const ruled = said.refused.filter(line => /\[[a-z_]+\]$/.test(line))
    const forced = sayOf(...apply(change), machine(), true)
    for (const line of ruled) t.ok(forced.warned.includes(line), line)
    if (ruled.length > 0) t.same(forced.refused, [])
  }
})
