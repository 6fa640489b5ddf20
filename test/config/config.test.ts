// biome-ignore-all lint/suspicious/noTemplateCurlyInString: that is how our YAML files name variables

import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import t from 'tap'
import { micro } from '../../lib/base/money.ts'
import { type Config, ConfigError, loadConfig, parseConfig } from '../../lib/config/config.ts'

const FILE = new URL('../../config/gateway.yaml', import.meta.url).pathname
const TOKEN = 'a-long-enough-token'

const DEFAULTS: Config = {
  accept: [],
  listen: {
    main: { host: '127.0.0.1', port: 3000 },
    direct: { host: '127.0.0.1', port: 3001 },
    ops: { host: '127.0.0.1', port: 3002 },
  },
  store: 'sqlite:data/gateway.db',
  migrateOnStart: true,
  secret: '',
  ownSecret: false,
  secretPrevious: null,
  journal: 'data/journal',
  journalLimitBytes: 256 * 2 ** 20,
  catalog: null,
  adminToken: null,
  workers: 1,
  zone: 'Asia/Shanghai',
  trustedProxies: [],
  wire: {
    'alpha-version': ['anthropic-version'],
    'alpha-beta': ['anthropic-beta'],
    'x-gamma-api-key': ['x-goog-api-key'],
    'x-gamma-api-client': ['x-goog-api-client'],
  },
  limits: {
    bodyBytes: 64 * 2 ** 20,
    bufferedBytes: 512 * 2 ** 20,
    rate: { requests: 600, minutes: 1 },
    count: null,
    concurrency: 0,
    keys: 10_000,
    members: 1_000,
  },
  timeouts: {
    connectMs: 5_000,
    firstByteMs: 600_000,
    idleMs: 300_000,
    leaveMs: 0,
    drainMs: 60_000,
    mainMs: 100_000,
    slowClientMs: 300_000,
  },
  keepalive: { mainMs: 15_000, directMs: 0, earlyMs: 80_000 },
  hold: { outputTokens: 0 },
  clientGone: { drainMs: 30_000, concurrent: 1024 },
  retry: { attempts: 3, deadlineMs: 120_000, budget: 0.2 },
  shed: { lagMs: 0 },
  usageRetentionMs: 0,
  exportBytesPerS: 2 * 2 ** 20,
  addressRetentionMs: 190 * 86_400_000,
  billing: { usdRate: null },
  images: null,
  public: { main: 'http://127.0.0.1:3000', direct: 'http://127.0.0.1:3001', given: false },
  registration: { mode: 'closed', said: false, groups: ['default'], rate: null },
  smtp: null,
  oidc: null,
  pay: { title: 'API 充值', order_limit: micro(50_000_000_000), day_limit: micro(100_000_000_000) },
  payer: null,
  mailbox: null,
  site: {
    name: { zh: '模型网关', en: 'Model gateway' },
    about: null,
    logo: null,
    colors: { light: null, dark: null },
    contact: null,
    terms: null,
    privacy: null,
    icp: null,
    links: [],
    languages: ['zh', 'en'],
    announcements: [],
  },
  log: { level: 'info' },
}

const parse = (text: string, env: NodeJS.ProcessEnv = {}): Config => parseConfig(text, 'c.yaml', env)

function problemsOf(text: string, env: NodeJS.ProcessEnv = {}): readonly string[] {
  try {
    parse(text, env)
    return []
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return error.problems
  }
}

t.test('an empty file is all defaults, and plain data', async t => {
  t.strictSame(parse(''), DEFAULTS)
  t.strictSame(parse('limits:\ntimeouts: {}\n'), DEFAULTS, 'empty sections')
  t.strictSame(JSON.parse(JSON.stringify(parse(''))), DEFAULTS)
})

t.test('the file in the checkout shows every default', async t => {
  const files = { catalog: new URL('catalog.yaml', `file://${FILE}`).pathname }
  t.strictSame(loadConfig(FILE, {}), { ...DEFAULTS, ...files })
  const secret = { adminToken: TOKEN, secret: TOKEN }
  t.strictSame(loadConfig(FILE, { GATEWAY_ADMIN_TOKEN: TOKEN }), { ...DEFAULTS, ...files, ...secret })
  const text = readFileSync(FILE, 'utf8')
  t.match(text, /^# yaml-language-server: \$schema=gateway\.schema\.json\n/)
})

t.test('settings', async t => {
  const table: [text: string, pick: (config: Config) => unknown, expected: unknown][] = [
    ['listen: { main: "[::1]:0" }', c => [c.listen.main, c.public.main], [{ host: '::1', port: 0 }, 'http://[::1]:0']],
    ['listen: { direct: 0.0.0.0:81 }', c => c.public.direct, 'http://localhost:81'],
    ['public: { main: "https://api.example/" }', c => c.public.main, 'https://api.example'],
    ['store: mysql://u:p@h:3306/d', c => c.store, 'mysql://u:p@h:3306/d'],
    ['workers: auto', c => c.workers, availableParallelism()],
    ['workers: ${WORKERS:-2}', c => c.workers, 2],
    [`admin_token: ${TOKEN}`, c => [c.adminToken, c.secret], [TOKEN, TOKEN]],
    [`admin_token: ${TOKEN}\nsecret: another-secret`, c => c.secret, 'another-secret'],
    ['wire: { alpha-beta: [X-One, two] }', c => c.wire['alpha-beta'], ['x-one', 'two']],
    ['wire: { alpha-beta: [] }', c => [c.wire['alpha-beta'], c.wire['alpha-version']], [[], ['anthropic-version']]],
    ['limits: { rate: { requests: 0 } }', c => c.limits.rate, { requests: 0, minutes: 1 }],
    ['timeouts: { main: 0s }', c => c.timeouts.mainMs, 0],
    ['timeouts: { slow_client: 9s }', c => c.timeouts.slowClientMs, 9_000],
    ['timeouts: { idle: 9s }', c => c.timeouts.slowClientMs, 9_000],
    ['export_rate: 512KiB', c => c.exportBytesPerS, 512 * 1024],
    ['usage_retention: 90d', c => c.usageRetentionMs, 90 * 86_400_000],
    ['images: { keep: 48h }', c => c.images, null],
    [
      'images: { links: p, keep: 48h, size: 1MiB }',
      c => c.images,
      { folder: 'p', keepMs: 172_800_000, sizeBytes: 2 ** 20 },
    ],
    ['images: { links: p }', c => c.images, { folder: 'p', keepMs: 86_400_000, sizeBytes: 2 ** 31 }],
    ['migrate_on_start: false', c => c.migrateOnStart, false],
    ['trusted_proxies: [10.0.0.0/8, "::1"]', c => c.trustedProxies, ['10.0.0.0/8', '::1']],
    ['retry: { budget: 0% }', c => c.retry, { attempts: 3, deadlineMs: 120_000, budget: 0 }],
  ]
  for (const [text, pick, expected] of table) t.strictSame(pick(parse(text)), expected, text)
})

t.test('problems name file, place, path, expectation and finding', async t => {
  const table: [text: string, ...problems: (string | RegExp)[]][] = [
    ['listen: { main: nowhere }', /^c\.yaml:1:17: listen\.main: expected an address as host:port.*, found "nowhere"$/],
    [
      'listen: { direct: 127.0.0.1:3000 }',
      'c.yaml:1:19: listen.direct: expected another address than listen.main, found "127.0.0.1:3000"',
    ],
    ['limits: { body: 12 bananas }', /^c\.yaml:1:17: limits\.body: expected a size .*, found "12 bananas"$/],
    ['images: { links: x, keep: 1s }', /^c\.yaml:1:27: images\.keep: expected a duration .*, found "1s"$/],
    ['images: { links: x, size: 1KiB }', /^c\.yaml:1:27: images\.size: expected a size .*, found "1KiB"$/],
    ['images: { links: "" }', 'c.yaml:1:18: images.links: expected a folder, found ""'],
    [
      'images: { links: ./data/journal }',
      'c.yaml:1:18: images.links: expected another folder than journal, found "./data/journal"',
    ],
    ['timeout: {}', /^c\.yaml:1:1: timeout: expected one of listen, .* \(did you mean timeouts\?\), found "timeout"$/],
    [
      'timeouts: { ilde: 5s }',
      'c.yaml:1:13: timeouts.ilde: expected one of connect, first_byte, idle, slow_client, leave, drain, main (did you mean idle?), found "ilde"',
    ],
    [
      'timeouts: { connect: 0s }',
      /^c\.yaml:1:22: timeouts\.connect: expected a duration .*at least 1ms.*, found "0s"$/,
    ],
    ['timeouts: 5s', 'c.yaml:1:11: timeouts: expected a map, found a single value'],
    ['trusted_proxies: 10.0.0.0/8', 'c.yaml:1:18: trusted_proxies: expected a list, found a single value'],
    ['trusted_proxies: [300.1.1.1/8]', /^c\.yaml:1:19: trusted_proxies\[0\]: expected .*, found "300\.1\.1\.1\/8"$/],
    ['store: postgres://x', /^c\.yaml:1:8: store: expected "sqlite:PATH" or .*, found "postgres:\/\/x"$/],
    ['store: mysql://host', /^c\.yaml:1:8: store: expected /],
    ['store: "sqlite:"', /^c\.yaml:1:8: store: expected /],
    [
      'limits: { rate: { minutes: 2 } }',
      /^c\.yaml:1:17: limits\.rate\.requests: expected a whole number .*, found nothing$/,
    ],
    ['workers: 0', /workers: expected a whole number from 1 to 256, or auto, found 0$/],
    ['wire: { other: [x] }', /^c\.yaml:1:9: wire\.other: expected one of alpha-version, /],
    ['log: { level: loud }', /log\.level: expected one of trace, .*, found "loud"$/],
    ['- 1', 'c.yaml:1:1: expected a map, found a list'],
    [
      'admin_token: ${NOPE}',
      'c.yaml:1:14: admin_token: expected the environment variable NOPE to be set, found "${NOPE}"',
    ],
    ['listen: [', /^c\.yaml:1:\d+: expected YAML/],
    ['nope: 1\nlimits:\n  body: x\n', /^c\.yaml:1:1: nope: /, /^c\.yaml:3:9: limits\.body: /],
  ]
  for (const [text, ...expected] of table) {
    const problems = problemsOf(text)
    t.equal(problems.length, expected.length, text)
    for (const [i, one] of expected.entries()) {
      if (typeof one === 'string') t.equal(problems[i], one)
      else t.match(problems[i], one)
    }
  }
})

t.test('no secret is shown', async t => {
  const env = { PASSWORD: 'hunter2 x', TOKEN: 'hunter2' }
  for (const text of [
    'admin_token: hunter2',
    'admin_token: ${TOKEN}',
    'secret: hunter2',
    'store: mysql://root:hunter2@h',
    'store: mysql://root:${PASSWORD}@h',
    'journal_limit: ${PASSWORD}',
    'log: { level: "${TOKEN}" }',
  ]) {
    const problems = problemsOf(text, env)
    t.equal(problems.length, 1, text)
    t.notMatch(problems.join('\n'), /hunter2/)
  }
})

t.test('a file that is not there', async t => {
  t.throws(
    () => loadConfig('/nowhere/c.yaml', {}),
    new ConfigError(['/nowhere/c.yaml: expected a readable file, found none (ENOENT)']),
  )
})
