/** Configs and catalogues as operators really have them, of which nothing is said. */
import { readFileSync } from 'node:fs'
import t from 'tap'
import { machine, sayOf } from './support.ts'

type Json = Record<string, unknown>

const KEY = 'sk-7fQ2mXv91TbW4zR8cLn5HdJ3sKg6PyA0'
const GATEWAY = {
  store: 'sqlite:data/gateway.db',
  journal: 'data/journal',
  catalog: 'catalog.yaml',
  admin_token: 'Zr8mT2kQ5vX1nB7w',
  secret: 'h3Jp9sLd6GfA0yUe',
}
const channel = (host: string, more: Json = {}): Json => ({
  name: 'up',
  base_url: host,
  protocols: ['chat'],
  key: KEY,
  groups: ['default'],
  models: ['m'],
  ...more,
})
/** Models of text say how much they write: most of them are served to clients of messages by translation. */
const model = (name: string, price: Json, more: Json = {}): Json => ({
  name,
  price,
  ...('output' in price ? { max_output: 64000 } : {}),
  ...more,
})

/** One model of one provider. */
const one = (name: string, price: Json, host: string, more: Json = {}): Json => ({
  models: [model(name, price)],
  channels: [channel(host, { models: [name], ...more })],
})

const OPENAI = 'https://api.openai.com'
const ANTHROPIC = 'https://api.anthropic.com'
const SONNET = { input: 21, output: 105, cache_read: 2.1, cache_write_5m: 26.25, cache_write_1h: 42 }
const messages = { kind: 'anthropic', protocols: ['messages'] }
const PROXIED = { public: { main: 'https://gw.acme.example', direct: 'https://direct.acme.example' } }

const GOOD: [name: string, catalog: Json, gateway?: Json, missing?: RegExp][] = [
  ['Anthropic with all its prices', one('claude-sonnet-4-5', SONNET, ANTHROPIC, messages)],
  [
    'no largest output where clients of messages are not translated',
    {
      models: [{ name: 'gpt-5', price: { input: 9, output: 70 } }],
      channels: [
        channel(OPENAI, { kind: 'openai', models: ['gpt-5'], translate: ['responses'] }),
        channel(OPENAI, { name: 'b', kind: 'openai', models: ['gpt-5'], translate: false, protocols: ['responses'] }),
      ],
    },
  ],
  [
    'nor where a channel speaks messages',
    {
      models: [{ name: 'glm-4.6', price: { input: 4, output: 16 } }],
      channels: [
        channel('https://open.bigmodel.cn', { kind: 'zhipu', models: ['glm-4.6'] }),
        channel('https://open.bigmodel.cn', {
          name: 'b',
          kind: 'zhipu',
          models: ['glm-4.6'],
          protocols: ['messages'],
        }),
      ],
    },
  ],
  [
    'a snapshot of a model by its whole name',
    one('claude-opus-4-5-20251101', { input: 35, output: 175 }, ANTHROPIC, messages),
  ],
  [
    'OpenAI, chat and responses',
    one('gpt-5.2', { input: 12.3, output: 98, cache_read: 1.23 }, OPENAI, {
      kind: 'openai',
      protocols: ['chat', 'responses'],
    }),
  ],
  [
    'a cheap model beside a dear one',
    {
      models: [model('gpt-5-nano', { input: 0.35, output: 2.8 }), model('o1-pro', { input: 1050, output: 4200 })],
      channels: [channel(OPENAI, { kind: 'openai', models: ['gpt-5-nano', 'o1-pro'] })],
    },
  ],
  [
    'Gemini with a price for large prompts',
    one(
      'gemini-2.5-pro',
      { input: 8.75, output: 70, cache_read: 0.875, over: [{ tokens: 200000, input: 17.5, output: 105 }] },
      'https://generativelanguage.googleapis.com',
      { kind: 'gemini', protocols: ['generate'] },
    ),
  ],
  [
    'DeepSeek at a tenth of its price for a reseller',
    one('deepseek-chat', { input: 0.2, output: 0.3, cache_read: 0.02 }, 'https://api.deepseek.com', {
      kind: 'deepseek',
    }),
  ],
  ['Zhipu', one('glm-4.6', { input: 4, output: 16 }, 'https://open.bigmodel.cn', { kind: 'zhipu' })],
  [
    'Moonshot',
    one('kimi-k2', { input: 4, output: 16, cache_read: 1 }, 'https://api.moonshot.cn', { kind: 'moonshot' }),
  ],
  ['Qwen', one('qwen3-max', { input: 6, output: 24 }, 'https://dashscope.aliyuncs.com', { kind: 'dashscope' })],
  [
    'a reseller whose names nobody knows',
    one('alpha-sonnet-5-5', { input: 3, output: 15 }, 'https://relay.acme.example/v1'),
  ],
  [
    'embeddings have no output',
    one('text-embedding-3-small', { input: 0.14 }, OPENAI, { kind: 'openai', protocols: ['embeddings'] }),
  ],
  [
    'pictures by size',
    one('gpt-image-1', { image: { default: 0.28, '1024x1536/high': 1.6 } }, OPENAI, {
      kind: 'openai',
      protocols: ['images'],
    }),
  ],
  [
    'speech and transcription',
    {
      models: [model('tts-1', { character: 105 }), model('whisper-1', { second: 0.0007 })],
      channels: [
        channel(OPENAI, { name: 'a', kind: 'openai', protocols: ['speech'], models: ['tts-1'] }),
        channel(OPENAI, { name: 'b', kind: 'openai', protocols: ['transcriptions'], models: ['whisper-1'] }),
      ],
    },
  ],
  [
    'rerank by request',
    one('rerank-v3.5', { request: 0.014 }, 'https://api.cohere.com', { kind: 'cohere', protocols: ['rerank'] }),
  ],
  [
    'one channel with models of text and of pictures',
    {
      models: [model('gpt-5', { input: 9, output: 70 }), model('gpt-image-1', { image: 0.28 })],
      channels: [channel(OPENAI, { kind: 'openai', protocols: ['chat', 'images'], models: ['gpt-5', 'gpt-image-1'] })],
    },
  ],
  [
    'a free model of one’s own on this machine',
    one('qwen3-32b', { input: 0, output: 0 }, 'http://127.0.0.1:8000/v1', { key: 'none' }),
  ],
  [
    'a free model in the private network',
    one('llama-3.3-70b', { input: 0, output: 0 }, 'http://10.1.2.3:8000/v1', { key: 'EMPTY' }),
  ],
  [
    'a free model in a container',
    one('llama-3.3-70b', { input: 0.1, output: 0.1 }, 'http://vllm:8000', { key: 'token' }),
  ],
  [
    'a free model that is meant',
    {
      accept: ['zero_price:glm-4-flash'],
      ...one('glm-4-flash', { input: 0, output: 0 }, 'https://open.bigmodel.cn', { kind: 'zhipu' }),
    },
  ],
  ['a chain of gateways', one('gpt-5', { input: 9, output: 70 }, 'https://other-gateway.example')],
  ['another gateway on this machine', one('gpt-5', { input: 9, output: 70 }, 'http://127.0.0.1:4000')],
  [
    'groups that cost less and more',
    {
      groups: [{ name: 'default' }, { name: 'vip', multiplier: 0.5 }, { name: 'small', multiplier: 1.3 }],
      models: [model('gpt-5', { input: 9, output: 70 })],
      channels: [
        channel(OPENAI, { kind: 'openai', groups: ['default', 'vip', 'small'], models: ['gpt-5'], cost: 0.5 }),
      ],
    },
  ],
  [
    'a cost by model',
    one('gpt-5', { input: 9, output: 70 }, OPENAI, { kind: 'openai', cost: { 'gpt-5': { input: 8.75, output: 70 } } }),
  ],
  [
    'a channel of last resort',
    {
      models: [model('gpt-5', { input: 9, output: 70 })],
      channels: [
        channel(OPENAI, { name: 'a', kind: 'openai', models: ['gpt-5'] }),
        channel('https://relay.acme.example', { name: 'b', models: ['gpt-5'], weight: 0 }),
        channel('https://old.acme.example', { name: 'c', models: ['gpt-5'], status: 'disabled' }),
      ],
    },
  ],
  [
    'several keys',
    one('gpt-5', { input: 9, output: 70 }, OPENAI, {
      kind: 'openai',
      key: undefined,
      keys: [{ key: KEY }, { key: `${KEY}b` }],
    }),
  ],
  [
    'Bedrock',
    one('claude-sonnet-4-5', SONNET, 'https://bedrock-runtime.us-east-1.amazonaws.com', {
      kind: 'bedrock',
      protocols: ['messages'],
      key: undefined,
      aws: {
        access_key_id: 'AKIAIOSFODNN7QWERTYU',
        secret_access_key: 'wJalrXUtnFEMIK7MDENGbPxRfiCYzzzzzzzzz',
        region: 'us-east-1',
      },
    }),
  ],
  ['Azure', one('gpt-5', { input: 9, output: 70 }, 'https://acme.openai.azure.com', { kind: 'azure-deployments' })],
  [
    'keys with limits',
    {
      ...one('gpt-5', { input: 9, output: 70 }, OPENAI, { kind: 'openai' }),
      accounts: [{ name: 'acme', balance: 100000 }],
      keys: [
        {
          account: 'acme',
          name: 'a',
          secret: `${KEY}c`,
          models: ['gpt-5'],
          cap: { amount: 50, every: 'month' },
          expires_at: '2031-01-01T00:00:00Z',
        },
        { account: 'acme', name: 'b', secret: `${KEY}d`, allow_ips: ['203.0.113.0/24'] },
      ],
    },
    { ...PROXIED, trusted_proxies: ['127.0.0.1', '::1'] },
  ],
  [
    'behind a proxy on this machine',
    one('gpt-5', { input: 9, output: 70 }, OPENAI, { kind: 'openai' }),
    { ...PROXIED, trusted_proxies: ['127.0.0.1'] },
  ],
  [
    'behind a CDN and a private network',
    one('gpt-5', { input: 9, output: 70 }, OPENAI, { kind: 'openai' }),
    { ...PROXIED, trusted_proxies: ['173.245.48.0/20', '104.16.0.0/13', '2400:cb00::/32', '10.0.0.0/8'] },
  ],
  [
    'on every address, operators on this machine',
    {},
    { catalog: undefined, listen: { main: '0.0.0.0:3000', direct: '[::]:3001', ops: '[::1]:3002' } },
  ],
  [
    'in a container whose port of operators is published to the host only',
    {},
    { catalog: undefined, accept: ['ops_exposed'], listen: { ops: '0.0.0.0:3002' } },
  ],
  [
    'MySQL, workers',
    {},
    { catalog: undefined, store: 'mysql://gateway:s3cr3tPassw0rd@db.internal:3306/gateway', workers: 4 },
  ],
  ['a fresh machine on which no folder is there yet', {}, { catalog: undefined }, /./],
  [
    'open registration with a catalogue for everybody',
    {
      groups: [{ name: 'default', public: true }],
      ...one('gpt-5', { input: 9, output: 70 }, OPENAI, { kind: 'openai' }),
    },
    {
      ...PROXIED,
      trusted_proxies: ['127.0.0.1'],
      registration: { mode: 'open' },
      smtp: { host: 'smtp.acme.example', from: 'gw@acme.example' },
    },
  ],
  [
    'prices of all kinds',
    one(
      'claude-sonnet-5',
      { ...SONNET, web_search: 0.07, tiers: { fast: 6, 'geo:us': 1.1, batch: 0.5 } },
      ANTHROPIC,
      messages,
    ),
  ],
]

t.test('nothing is said of what is right', async t => {
  t.ok(GOOD.length >= 30)
  for (const [name, catalog, gateway = {}, missing] of GOOD) {
    const config = JSON.stringify({ ...GATEWAY, ...gateway })
    const file = Object.keys(catalog).length === 0 ? { groups: [{ name: 'default' }] } : catalog
    t.same(sayOf(config, JSON.stringify(file), machine(missing)), { refused: [], warned: [] }, name)
  }
})

t.test('nor of the files that ship with the project', async t => {
  const read = (path: string) => readFileSync(new URL(`../../config/${path}`, import.meta.url), 'utf8')
  const catalog = read('catalog.yaml')
    .replaceAll(/\$\{UPSTREAM_URL:-(.*?)\}/g, '$1')
    .replaceAll(/\$\{UPSTREAM_KEY:-(.*?)\}/g, '$1')
  for (const file of ['gateway.yaml', 'deploy/gateway.compose.yaml', 'deploy/gateway.systemd.yaml']) {
    const config = read(file).replaceAll(/\$\{(\w+)(?::-.*?)?\}/g, (_, name: string) => `Zr8mT2kQ5vX1${name}`)
    t.same(sayOf(config, catalog), { refused: [], warned: [] }, file)
  }
})
