/** Mistakes that people make in a config and in a catalogue, as changes of files that are right, and files that are right. */

export const GATEWAY = `listen: { main: 127.0.0.1:22500, direct: 127.0.0.1:22501, ops: 127.0.0.1:22502 }
store: sqlite:cfg/x.db
journal: cfg/journal
catalog: catalog.yaml
admin_token: op-admin-token-1
secret: op-secret-123456
`
export const CATALOG = `groups:
  - { name: default, multiplier: 1 }
models:
  - { name: claude-sonnet, price: { input: 21, output: 105 }, max_output: 64000 }
channels:
  - { name: up, base_url: 'https://api.example.com/v1', kind: anthropic, protocols: [messages], key: sk-ant-api03-9fK2mQ7vT1xW4bZ8cR5n, groups: [default], models: [claude-sonnet] }
accounts:
  - { name: acme, balance: 100 }
keys:
  - { account: acme, name: k, secret: sk-0123456789abcdef }
`

export interface Change {
  gateway?: string
  catalog?: string
}

/** The two files with a change in one of them; what is to be changed must stand there. */
const inCatalog = (...pairs: [found: string, put: string][]): Change => ({ catalog: changed(CATALOG, pairs) })
const inGateway = (...pairs: [found: string, put: string][]): Change => ({ gateway: changed(GATEWAY, pairs) })
const added = (line: string): Change => ({ gateway: `${GATEWAY}${line}\n` })

function changed(text: string, pairs: readonly (readonly [string, string])[]): string {
  for (const [found, put] of pairs) {
    if (!text.includes(found)) throw new Error(`${found} does not stand there`)
    text = text.replace(found, () => put)
  }
  return text
}

export const apply = ({ gateway = GATEWAY, catalog = CATALOG }: Change): [string, string] => [gateway, catalog]

const BOTH = 'input: 21, output: 105'
const KEY = 'sk-ant-api03-9fK2mQ7vT1xW4bZ8cR5n'
const MODELS = 'models: [claude-sonnet] }'
const URL_ = 'https://api.example.com/v1'
const SECRET = 'secret: sk-0123456789abcdef'

export const MISTAKES: [name: string, change: Change][] = [
  ['none', {}],
  ['a price per thousand tokens', inCatalog([BOTH, 'input: 0.021, output: 0.105'])],
  ['a price in USD per token', inCatalog([BOTH, 'input: 0.000003, output: 0.000015'])],
  ['no price of output', inCatalog([BOTH, 'input: 21'])],
  ['no price of input', inCatalog([BOTH, 'output: 105'])],
  ['input and output swapped', inCatalog([BOTH, 'input: 105, output: 21'])],
  ['everything free', inCatalog([BOTH, 'input: 0, output: 0'])],
  ['a negative price', inCatalog(['input: 21', 'input: -21'])],
  ['reading from a cache without writing to it', inCatalog(['output: 105', 'output: 105, cache_read: 2.1'])],
  ['a cache ten times dearer than input', inCatalog(['output: 105', 'output: 105, cache_read: 210'])],
  ['a decimal comma', inCatalog(['input: 21', 'input: "21,5"'])],
  ['a misspelt price', inCatalog(['output: 105', 'outptu: 105'])],
  ['multiplier 0', inCatalog(['multiplier: 1', 'multiplier: 0'])],
  ['multiplier 80 for 80 %', inCatalog(['multiplier: 1', 'multiplier: 80'])],
  ['multiplier "80%"', inCatalog(['multiplier: 1', 'multiplier: 80%'])],
  ['multiplier -1', inCatalog(['multiplier: 1', 'multiplier: -1'])],
  ['a cost above the price', inCatalog([MODELS, 'models: [claude-sonnet], cost: 1.5 }'])],
  [
    'a cost above the price in a cheap group',
    inCatalog(['multiplier: 1', 'multiplier: 0.5'], [MODELS, 'models: [claude-sonnet], cost: 0.8 }']),
  ],
  ['an address with the whole path', inCatalog([URL_, 'https://api.example.com/v1/messages'])],
  ['an address without encryption', inCatalog([URL_, 'http://api.example.com'])],
  ['an address without a scheme', inCatalog([URL_, 'api.example.com'])],
  ['an address that is this gateway', inCatalog([URL_, 'http://127.0.0.1:22500'])],
  ['a kind that does not speak the protocol', inCatalog(['kind: anthropic', 'kind: openai'])],
  ['a known host without its kind', inCatalog([`'${URL_}', kind: anthropic`, "'https://api.anthropic.com'"])],
  ['a key with a space at its end', inCatalog([`key: ${KEY}`, `key: "${KEY} "`])],
  ['a key with "Bearer"', inCatalog([`key: ${KEY}`, `key: "Bearer ${KEY}"`])],
  ['an empty key', inCatalog([`key: ${KEY}`, 'key: ""'])],
  ['no key', inCatalog([`key: ${KEY}, `, ''])],
  ['a placeholder in the place of a key', inCatalog([KEY, 'YOUR_API_KEY'])],
  ['a variable that is not set', inCatalog([KEY, '"$' + '{NOT_SET}"'])],
  ['a variable without braces', inCatalog([KEY, '$KEY'])],
  ['a model in other capitals', inCatalog([MODELS, 'models: [Claude-Sonnet] }'])],
  ['a misspelt group', inCatalog(['groups: [default], models', 'groups: [defualt], models'])],
  ['no largest output, which is no mistake', inCatalog([', max_output: 64000', ''])],
  ['a balance of a billion', inCatalog(['balance: 100', 'balance: 1000000000'])],
  ['a negative balance', inCatalog(['balance: 100', 'balance: -100'])],
  ['a secret "123"', inCatalog(['sk-0123456789abcdef', '"123"'])],
  ['a secret test', inCatalog(['sk-0123456789abcdef', 'test'])],
  [
    'a model twice',
    inCatalog(['channels:', '  - { name: claude-sonnet, price: { input: 2, output: 10 } }\nchannels:']),
  ],
  ['a setting twice', inCatalog(['max_output: 64000', 'max_output: 64000, max_output: 10'])],
  ['a tab', inCatalog(['  - { name: acme', '\t- { name: acme'])],
  ['weight 0 for the only channel', inCatalog([MODELS, 'models: [claude-sonnet], weight: 0 }'])],
  ['a cap with a sign of currency', inCatalog([SECRET, `${SECRET}, cap: "¥50"`])],
  ['a network that is none', inCatalog([SECRET, `${SECRET}, allow_ips: ["10.0.0.0/33"]`])],
  [
    'addresses of clients behind a proxy that is not trusted',
    {
      ...inCatalog([SECRET, `${SECRET}, allow_ips: ["203.0.113.0/24"]`]),
      ...added('public: { main: https://gw.example.com }'),
    },
  ],
  ['operators on every address', inGateway(['ops: 127.0.0.1:22502', 'ops: 0.0.0.0:22502'])],
  ['the internet as a proxy', added("trusted_proxies: ['0.0.0.0/0']")],
  ['the token changeme', inGateway(['op-admin-token-1', 'changeme'])],
  ['a short secret', inGateway(['op-secret-123456', 'a'])],
  ['a store in a folder that does not exist', inGateway(['sqlite:cfg/x.db', 'sqlite:nodir/x.db'])],
  ['a store of another kind', inGateway(['sqlite:cfg/x.db', 'postgres://u:p@h/db'])],
  ['an @ in a password, which is no mistake', inGateway(['sqlite:cfg/x.db', 'mysql://gateway:p@ss@127.0.0.1/gateway'])],
  ['a port twice', inGateway(['direct: 127.0.0.1:22501', 'direct: 127.0.0.1:22500'])],
  ['a duration without unit', added('timeouts: { drain: 60 }')],
  ['time-outs shorter than answers', added('timeouts: { main: 10s, first_byte: 5s }')],
  ['a small rate, which is no mistake', added('limits: { rate: { requests: 6 } }')],
  ['a rate as a number', added('limits: { rate: 600 }')],
  ['a zone of half hours', added('zone: Asia/Kolkata')],
  ['a misspelt zone', added('zone: Asia/Bejing')],
  ['usage kept for an hour', added('usage_retention: 1h')],
  ['64 workers', added('workers: 64')],
  ['no such catalogue', inGateway(['catalog: catalog.yaml', 'catalog: []'])],
  ['a price of pictures on a protocol of text', inCatalog([BOTH, 'image: 0.28'])],
  [
    'a budget for a period that is none',
    inCatalog(['balance: 100', 'balance: 100, budget: { amount: 100, every: year }']),
  ],
  ['an empty catalogue', { catalog: '' }],
]

export const SIBLINGS: [name: string, change: Change][] = [
  ['prices a thousand times too dear', inCatalog([BOTH, 'input: 21000, output: 105000'])],
  ['one price in fen', inCatalog(['output: 105', 'output: 10500'])],
  ['one price per thousand tokens', inCatalog(['output: 105', 'output: 0.105'])],
  ['only the output is free', inCatalog(['output: 105', 'output: 0'])],
  ['a search at the price of a thousand', inCatalog(['output: 105', 'output: 105, web_search: 70'])],
  [
    'large prompts cheaper',
    inCatalog(['output: 105', 'output: 105, over: [{ tokens: 200000, input: 4.2, output: 157.5 }]']),
  ],
  ['a tier of 200 for 2.00', inCatalog(['output: 105', 'output: 105, tiers: { priority: 200 }'])],
  ['a cost of 62 for 62 %', inCatalog([MODELS, 'models: [claude-sonnet], cost: 62 }'])],
  [
    'a cost by model above its price',
    inCatalog([MODELS, 'models: [claude-sonnet], cost: { claude-sonnet: { input: 20, output: 110 } } }']),
  ],
  ['multiplier 0.05', inCatalog(['multiplier: 1', 'multiplier: 0.05'])],
  [
    'an address that is this gateway by its public name',
    {
      ...inCatalog([URL_, 'https://gw.example.com/v1']),
      ...added('public: { main: https://gw.example.com }\ntrusted_proxies: [127.0.0.1]'),
    },
  ],
  [
    'an address that is a listener on every address',
    { ...inCatalog([URL_, 'http://localhost:22501/v1']), ...inGateway(['direct: 127.0.0.1', 'direct: 0.0.0.0']) },
  ],
  ['a placeholder in angle brackets', inCatalog([KEY, '"<your-key>"'])],
  ['a key of x', inCatalog([KEY, 'sk-xxxxxxxxxxxx'])],
  ['one of several keys not filled in', inCatalog([`key: ${KEY}`, `keys: [{ key: ${KEY} }, { key: changeme }]`])],
  ['the kind of another provider', inCatalog([URL_, 'https://api.deepseek.com'])],
  ['a channel without models', inCatalog([MODELS, 'models: [] }'])],
  ['a short secret of a key', inCatalog(['sk-0123456789abcdef', 'sk-test'])],
  ['a key that has expired', inCatalog([SECRET, `${SECRET}, expires_at: 2029-01-01T00:00:00Z`])],
  ['a key for no model', inCatalog([SECRET, `${SECRET}, models: []`])],
  [
    'changeme for everybody',
    inGateway(['op-admin-token-1', 'changeme'], ['ops: 127.0.0.1:22502', 'ops: 0.0.0.0:22502']),
  ],
  ['12345678 for everybody', inGateway(['op-admin-token-1', '"12345678"'], ['ops: 127.0.0.1', 'ops: 10.0.0.5'])],
  ['a secret that is the token', inGateway(['op-secret-123456', 'op-admin-token-1'])],
  ['a secret that can be guessed', inGateway(['op-secret-123456', 'password'])],
  ['half of the internet as a proxy', added("trusted_proxies: ['0.0.0.0/1', '::/0']")],
  ['a proxy that is not trusted', added('public: { main: https://gw.example.com }')],
  ['a public address without encryption', added('public: { main: http://gw.example.com }')],
  ['bodies of 1 MiB', added('limits: { body: 1MiB }')],
  ['no keep-alive', added('keepalive: { main: 0s }')],
  ['books in memory', inGateway(['sqlite:cfg/x.db', "'sqlite::memory:'"])],
  ['a disk that is not mounted', inGateway(['journal: cfg/journal', 'journal: unmounted/journal'])],
  [
    'a kind of which no stream was recorded',
    inCatalog([URL_, 'https://api.fireworks.ai'], ['anthropic, protocols: [messages]', 'fireworks, protocols: [chat]']),
  ],
  [
    'no largest output of a model that clients of messages reach by translation only',
    inCatalog([', max_output: 64000', ''], ['anthropic, protocols: [messages]', 'openai, protocols: [chat]']),
  ],
  ['a rule that is none', { catalog: `accept: [zero_prise]\n${CATALOG}` }],
]
