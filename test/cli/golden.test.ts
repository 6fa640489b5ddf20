/**
 * What every command prints, as people see it on a terminal of 80 columns, as programs read it in a pipe, and as JSON. The files of
 * `golden` hold it; `GOLDEN=write node test/run.ts test/cli/golden.test.ts` writes them anew, and what changed is read in the diff.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import t from 'tap'
import { idAt } from '../../lib/base/ids.ts'
import { openStore } from '../../lib/store/store.ts'
import { LOOSE, newOrder } from '../support/orders.ts'
import { commandLine } from '../support/command-line.ts'
import { settlement, SETUP, usageRow } from '../support/store.ts'

const COLUMNS = 80
const TOKEN = 'a-token-for-the-golden-files'
const FOLDER = new URL('golden/', import.meta.url)
const ACCOUNT = '一个名字很长很长的客户有限责任公司上海分公司'
/** Nobody listens there: a gateway that runs on this machine beside the test would be asked at the usual ports. */
const LISTEN = { main: '127.0.0.1:3', direct: '127.0.0.1:4', ops: '127.0.0.1:5' }
const CONFIG = {
  store: 'sqlite:books.db',
  journal: 'j',
  admin_token: TOKEN,
  public: { main: 'https://api.example.com' },
  listen: LISTEN,
}
const CATALOG = {
  groups: [{ name: '默认', multiplier: 1, public: true }],
  models: [{ name: '模型-一', price: { input: 3, output: '9.5', over: [{ tokens: 200_000, input: 6, output: 19 }] } }],
  channels: [
    {
      name: '上游一号',
      base_url: 'http://127.0.0.1:9',
      protocols: ['chat', 'messages'],
      key: 'up-key',
      groups: ['默认'],
      models: ['模型-一'],
      budget: { amount: 1000, from: '2026-01-01', warn_below: 100 },
    },
  ],
  accounts: [{ name: ACCOUNT, groups: ['默认'], balance: '1234.5' }],
  keys: [{ account: ACCOUNT, name: '生产环境的密钥', secret: 'sk-0123456789abcdef', group: '默认' }],
}

const command = commandLine()
const folder = t.testdir({
  'c.yaml': JSON.stringify(CONFIG),
  'd.yaml': JSON.stringify({
    ...CONFIG,
    public: { main: 'https://localhost:3', direct: 'http://api.example.com' },
  }),
  'cat.yaml': JSON.stringify(CATALOG),
  'more.yaml': JSON.stringify({
    ...CATALOG,
    accounts: [...CATALOG.accounts, { name: '第二个客户', groups: ['默认'] }],
  }),
  'prices.csv': 'model,input,output\n模型-一,4,12\n模型-二,1,2\n',
})

/** The requests and the order that the store holds. They arrived at a time that never changes. */
const ATS = [1, 2].map(day => Date.UTC(2026, 0, day, 8, 30))
const REQUESTS = ATS.map(atMs => `${idAt(atMs)}n0de0000001`)
const ORDER = 'TH9A085W12VCWYZ8W1S3YZV6B53'

/** What is different in every run, and what stands for it, as long as it is. */
const MASKS: readonly [RegExp, string | ((found: string) => string)][] = [
  [
    /20(?!26-01-0[12]|25)\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3})?/g,
    found => 'YYYY-MM-DDThh:mm:ss.sss'.slice(0, found.length),
  ],
  [/20(?!26-01-0[12]|25)\d\d-\d\d-\d\d(?!T)/g, 'YYYY-MM-DD'],
  [/#[\w-]{43}/g, `#${'x'.repeat(43)}`],
  [/\bsk-(?!0123456789)\w{48}/g, `sk-${'x'.repeat(48)}`],
  [/sk-…(?!cdef)\w{4}/g, 'sk-…xxxx'],
  [/\b(?=[a-z]*\d)(?=\d*[a-z])(?!01k)[0-9a-z]{20}\b/g, 'x'.repeat(20)],
  [/(?<=user )[0-9a-z]{3,19}…/g, found => `${'x'.repeat(found.length - 1)}…`],
  [/"bytes":\d+/g, '"bytes":999'],
  [/\d\.\d MB/g, '9.9 MB'],
  [/\d+\.\d GB/g, '99.9 GB'],
  [/answers in \d+ ms/g, 'answers in 9 ms'],
]

const masked = (text: string): string =>
  MASKS.reduce((all, [pattern, by]) => all.replaceAll(pattern, by as string), text)

/** Those that only read are run in all three ways, the others in the one that stands here. */
type Way = 'all' | 'terminal' | 'pipe' | 'json'

/** In this order. The name of a file is that of the first word. */
const STEPS: readonly [typed: string, way: Way][] = [
  ['check', 'terminal'],
  ['apply cat.yaml', 'terminal'],
  ['apply more.yaml --dry-run', 'terminal'],
  ['apply more.yaml --dry-run --json', 'pipe'],
  ['accounts list', 'all'],
  ['accounts show @ACCOUNT', 'all'],
  ['accounts create 第三个客户 --groups 默认 --balance 7 --budget {amount:\u00a05,\u00a0every:\u00a0day}', 'terminal'],
  ['accounts set 第三个客户 --rate {requests:\u00a060,\u00a0minutes:\u00a01}', 'terminal'],
  ['accounts set 第三个客户 --budget null --dry-run', 'terminal'],
  ['accounts ban 第三个客户', 'pipe'],
  ['accounts unban 第三个客户', 'json'],
  ['accounts topup @ACCOUNT 100 转账-0001', 'terminal'],
  ['accounts adjust @ACCOUNT 2.25 更正-0001', 'terminal'],
  ['accounts entries @ACCOUNT', 'all'],
  ['keys list', 'all'],
  ['keys create 第三个客户 新的密钥 --cap 3', 'terminal'],
  ['keys set 2 --allow-ips 10.0.0.0/8,192.0.2.1 --expires-at 2026-01-02T00:00:00Z', 'terminal'],
  ['keys roll 2 --grace 1h', 'terminal'],
  ['keys delete 2 --yes', 'terminal'],
  ['models list', 'all'],
  ['models show 模型-一', 'all'],
  ['models create 模型-三 --price {input:\u00a01,\u00a0output:\u00a02} --context 128000', 'terminal'],
  ['models set 模型-三 --offline true', 'terminal'],
  ['models delete 模型-三 --yes', 'terminal'],
  ['groups list', 'all'],
  ['groups show 默认', 'all'],
  ['groups create 贵宾 --multiplier 0.8', 'terminal'],
  ['groups set 贵宾 --public', 'terminal'],
  ['groups multipliers 贵宾', 'all'],
  ['groups delete 贵宾 --yes', 'terminal'],
  ['channels list', 'all'],
  ['channels show 上游一号', 'all'],
  [
    'channels create 上游二号 --base-url http://127.0.0.1:9 --protocols chat --key up --groups 默认 --models 模型-一',
    'terminal',
  ],
  ['channels set 上游二号 --weight 7', 'terminal'],
  ['channels delete 上游二号 --yes', 'terminal'],
  ['users list', 'all'],
  ['users show 王@example.org', 'terminal'],
  ['users show wang@example.org', 'all'],
  ['users invite --email new@example.org', 'terminal'],
  ['users invitations', 'all'],
  ['users uninvite @INVITATION', 'terminal'],
  ['users disable wang@example.org --yes', 'terminal'],
  ['users enable wang@example.org', 'pipe'],
  ['users end-sessions wang@example.org', 'terminal'],
  ['users reset wang@example.org', 'terminal'],
  ['users factor-reset wang@example.org --yes', 'terminal'],
  ['prices list', 'all'],
  ['prices show 模型-一', 'all'],
  ['prices set 模型-一 input=4 output=12 --dry-run', 'terminal'],
  ['prices set 模型-一 input=4', 'terminal'],
  ['prices history 模型-一', 'all'],
  ['prices import prices.csv --dry-run', 'all'],
  ['usage', 'all'],
  ['usage --by day,model', 'all'],
  ['usage --by day,model --sort -requests', 'pipe'],
  ['usage --csv', 'pipe'],
  ['usage --jsonl', 'pipe'],
  ['statement @ACCOUNT --month 2026-01', 'pipe'],
  ['requests list', 'all'],
  ['requests show @REQUEST', 'all'],
  ['requests show @REFUSED', 'all'],
  ['requests dispute @REQUEST --settle waive --reason 试算', 'terminal'],
  ['refusals list', 'all'],
  ['refusals count', 'all'],
  ['senders list', 'all'],
  ['orders list', 'all'],
  ['orders show @ORDER', 'all'],
  ['orders refund @ORDER --amount 1 --reference r --reason 客户要求', 'terminal'],
  ['orders release @ORDER --reason 已核实', 'terminal'],
  ['orders exceptions', 'all'],
  ['orders resolve 1 --action close --reason 已核实', 'terminal'],
  ['orders to-send', 'terminal'],
  ['orders sent 1 --reason 未发送', 'terminal'],
  ['orders addresses', 'terminal'],
  ['orders rewind --block 1 --reason 重读', 'terminal'],
  ['pay status', 'all'],
  ['pay rates', 'all'],
  ['pay set-rate USD 7 --for 1h', 'terminal'],
  ['pay doctor alipay --account @ACCOUNT', 'terminal'],
  ['actions list --limit 5', 'all'],
  ['export', 'pipe'],
  ['migrate', 'terminal'],
  ['rollups rebuild', 'terminal'],
  ['audit', 'all'],
  ['doctor', 'all'],
  ['doctor --base http://localhost:3/v1/messages --key NOT_SET', 'all'],
  ['backup copy.db', 'terminal'],
  ['backup other.db --json', 'pipe'],
  ['prune --before 2026-01-02 --dry-run', 'all'],
  ['prune --before 2026-01-02 --yes', 'terminal'],
]

/** They serve until they are ended, ask an address or a gateway that runs, or print what a program reads; they have tests of their own. */
const ELSEWHERE = ['serve', 'demo', 'simulate', 'completion', 'channels test', 'channels rest', 'channels wake']

const LAST = { terminal: '', pipe: ' | cat', json: ' --json' }

async function fill(): Promise<void> {
  const store = openStore(`sqlite:${folder}/books.db`, { secret: TOKEN })
  const [key] = await store.keys.list()
  const row = { model: '模型-一', channel: '上游一号', group: '默认' }
  const rows = REQUESTS.map(id => usageRow(id, key!, 1_234_567, row))
  await store.books.settle(rows.map(one => settlement(one, 'h', 0)))
  const refused = { atMs: ATS[0]!, accountId: key!.accountId, keyId: key!.id, model: '模型-一', address: '192.0.2.1' }
  await store.refusals.record([
    { ...refused, requestId: `${idAt(ATS[0]! + 1)}n0de0000002`, reason: 'quota', status: 403 },
  ])
  const account = await store.accounts.byName(ACCOUNT)
  const order = newOrder(account!.id, { id: ORDER })
  await store.pay.makeOrder(order, LOOSE, SETUP)
  const exception = { method: 'alipay', kind: 'amount', reference: 'tx', detail: '少付一分钱', orderId: ORDER } as const
  await store.pay.raiseException({ ...exception, transactionId: 'tx', amount: 499, currency: 'CNY' })
  const user = {
    email: 'wang@example.org',
    name: '王小明',
    password: null,
    operator: true,
    language: null,
    atMs: ATS[0]!,
  }
  await store.people.users.create(user, SETUP)
  await store.close()
}

/** Chinese characters take two columns. What has no spaces, such as a link, stays whole, so that it can be copied. */
function isTooWide(line: string): boolean {
  const columns = [...line].reduce((sum, one) => sum + (/[\u2e80-\uffef]/.test(one) ? 2 : 1), 0)
  return columns > COLUMNS && !/^\S+ +\S+$/.test(line)
}

const wordsOf = (typed: string, invitation: string): string[] =>
  typed
    .replace('@ACCOUNT', ACCOUNT)
    .replace('@REQUEST', REQUESTS[0]!)
    .replace('@REFUSED', `${idAt(ATS[0]! + 1)}n0de0000002`)
    .replace('@ORDER', ORDER)
    .replace('@INVITATION', invitation)
    .split(' ')
    .map(word => word.replaceAll('\u00a0', ' '))

t.test('what every command prints', async t => {
  const said = new Map<string, string>()
  const run = (words: readonly string[], columns?: number) =>
    command(
      [...words, '--config', words[0] === 'doctor' ? 'd.yaml' : 'c.yaml'],
      folder,
      columns === undefined ? {} : { columns },
    )
  await run(['migrate'])
  let filled = false
  for (const [typed, way] of STEPS) {
    if (typed.startsWith('accounts') && !filled) {
      await fill()
      filled = true
    }
    const invitation = typed.includes('@INVITATION') ? (await run(['users', 'invitations'])).stdout.split('\t')[0]! : ''
    const words = wordsOf(typed, invitation)
    const noun = words[0]!
    for (const one of way === 'all' ? (['terminal', 'pipe', 'json'] as const) : ([way] as const)) {
      const asked = one === 'json' ? [...words, '--json'] : words
      const { status, stdout, stderr } = await run(asked, one === 'terminal' ? COLUMNS : undefined)
      if (one === 'terminal') t.same(stdout.split('\n').filter(isTooWide), [], typed)
      const exit = status === 0 ? '' : `(exit ${status})\n`
      const shown = masked(
        `$ gateway ${typed.replaceAll('\u00a0', ' ')}${LAST[one]}\n${stdout}${stderr.replaceAll(/^/gm, '! ').replace(/! $/, '')}${exit}\n`,
      )
      said.set(noun, (said.get(noun) ?? '') + shown)
    }
  }
  for (const [noun, text] of said) {
    const file = new URL(`${noun}.txt`, FOLDER)
    if (process.env['GOLDEN'] === 'write') writeFileSync(file, text)
    t.equal(text, readFileSync(file, 'utf8'), noun)
  }
  const paths = (await command(['completion', 'bash'], folder)).stdout.matchAll(/^ {4}'([^']+)'\) COMPREPLY/gm)
  const all = [...paths].map(([, path]) => path as string)
  for (const path of all.filter(path => !all.some(other => other.startsWith(`${path} `))))
    t.ok(ELSEWHERE.includes(path) || STEPS.some(([typed]) => `${typed} `.startsWith(`${path} `)), `${path} is shown`)
})
