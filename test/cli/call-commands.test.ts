/** The commands that are calls of the admin API: each step does the same on a store and through a gateway that runs. */
import { createHash } from 'node:crypto'
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import { openStore } from '../../lib/store/store.ts'
import { openOps, TOKEN } from '../admin/support.ts'
import { commandLine, type Ended, runBin } from '../support/command-line.ts'

process.env['GATEWAY_ADMIN_TOKEN'] = TOKEN
const command = commandLine()

const SHA256 = createHash('sha256').update('sk-of-another-gateway').digest('hex')
const AWS_SECRET = `${'hidden'.repeat(6)}1234`
/** The reader of a catalogue would take it for a variable. */
const NO_VARIABLE = ['$', '{b}'].join('')
/** Nobody listens there: a gateway that runs on this machine beside the test would be asked at the usual ports. */
const LISTEN = { main: '127.0.0.1:3', direct: '127.0.0.1:4', ops: '127.0.0.1:5' }
const BOOKS = { store: 'sqlite:books.db', journal: 'j', admin_token: TOKEN }
const CONFIG = JSON.stringify({ ...BOOKS, listen: LISTEN })

/** What is typed, and what the command ends with. Later steps find what earlier ones have made. */
const STEPS: readonly [
  args: string,
  expected: { status?: number; stdout?: RegExp | string; stderr?: RegExp | string },
][] = [
  ['groups create default --public true', { stdout: /^name\tdefault\n/ }],
  ['groups create default', { status: 5, stderr: /default is there already/ }],
  ['models create m --price {input:\u00a03}', { stdout: /^price\t\{"input":3\}$/m }],
  ['models set m --price {input:\u00a04,\u00a0output:\u00a09} --dry-run', { stdout: /^method\tPUT\n.*"output":9/s }],
  ['models set m --max-output 100', { stdout: /^max_output\t100$/m }],
  ['models show m --json', { stdout: /"price":\{"input":3\},"max_output":100,/ }],
  ['models list', { stdout: 'm\t-\tinput: 3\tfalse\n' }],
  ['models set gone --max-output 1', { status: 3, stderr: /^gateway: there is no model gone/ }],
  ['models set m --max-output many', { status: 2, stderr: /^gateway: --max-output: expected a whole number from 1/ }],
  [
    'channels create c --base-url http://127.0.0.1:9 --protocols chat --key up --groups default --models m',
    { stdout: /^name\tc\n/ },
  ],
  ['channels show c', { stdout: /^traffic\t\{"from":/m }],
  ['channels rest c --for long', { status: 2, stderr: /--for: expected a duration/ }],
  ['channels rest c --for 1h --dry-run', { stdout: /^path\t\/admin\/channels\/c\/rest$/m }],
  ['channels set c --weight 7', { stdout: /^weight\t7$/m }],
  // only a gateway that runs knows the state
  ['channels list', { stdout: /^c\t(-|closed)\t-\tchat\tdefault\tm\n$/ }],
  ['help channels list', { stdout: /^Usage: gateway channels list / }],
  ['accounts create 新客户 --balance 10.5', { stdout: /^balance\t10\.500000$/m }],
  ['accounts create 新客户', { status: 5, stderr: /新客户/ }],
  ['accounts topup 新客户 1 ref', { stdout: /^balance\t11\.500000$/m }],
  ['accounts topup 新客户 1 ref', { stdout: /^balance\t11\.500000$/m }],
  ['accounts topup 新客户 much ref2', { status: 2, stderr: /amount: expected/ }],
  ['accounts entries 新客户', { stdout: /\t1\.000000\t.*\tref\t/ }],
  ['accounts ban 新客户', { stdout: /^status\tbanned$/m }],
  ['accounts unban 新客户', { stdout: /^status\tactive$/m }],
  ['accounts list', { stdout: '新客户\tactive\tdefault\t11.500000\t0.000000\t11.500000\n' }],
  ['accounts show nobody', { status: 3, stderr: /^gateway: there is no account nobody/ }],
  ['keys create 新客户 first --cap 3 --models m,n', { stdout: /^secret\tsk-\w{48}$/m }],
  [`keys create 新客户 moved --sha256 ${SHA256}`, { stdout: /^secret\tnull$/m }],
  [`keys create 新客户 again --sha256 ${SHA256}`, { status: 5, stderr: /the secret is in use/ }],
  ['keys create 新客户 bad --sha256 sk-of-another', { status: 2, stderr: /--sha256: expected a SHA-256/ }],
  ['keys set 1 --cap null', { stdout: /^cap\tnull$/m }],
  ['keys list --limit 1', { stdout: /^1\t新客户\tfirst\tdefault\tenabled\t/, stderr: /there are more/ }],
  ['keys roll 1 --grace 1h', { stdout: /^secret\tsk-\w{48}$/m }],
  ['keys delete 2', { status: 2, stderr: 'gateway: keys delete: without a terminal, say --yes\n' }],
  ['keys delete 2 --yes', { stdout: '' }],
  ['keys list --account 新客户 --json', { stdout: /^\{"data":\[\{"id":1,[^{]*\}\],"next":null\}\n$/ }],
  ['requests list', { stdout: '' }],
  ['refusals list', { stdout: '' }],
  ['refusals list --reason cheek', { status: 2, stderr: /--reason: expected/ }],
  ['refusals count', { stdout: '', stderr: /refused: 0, unnamed most: 0/ }],
  ['refusals count --by account --json', { stdout: /"unnamed_most":0,"data":\[\]\}$/m }],
  ['senders list --by key', { stdout: '', stderr: /^from: / }],
  ['actions list --limit 2', { stdout: /\tkeys\.remove\t新客户\t/, stderr: /there are more/ }],
  ['export', { stdout: /^# .*\n(#.*\n)*# {3}C_KEY\ngroups:\n(.*\n)*? {4}key: \$\{C_KEY\}\n/ }],
  ['users invite --email op@example.org --role operator', { stdout: /^url\t\S+\/console\/invitation#[\w-]{43}$/m }],
  ['users invite --email nobody', { status: 2, stderr: /^gateway: --email: expected / }],
  ['users invitations', { stdout: /^\S+\top@example\.org\t-\t/ }],
  ['users list --role operator', { stdout: '' }],
  ['users show op@example.org', { status: 3, stderr: /no such user/i }],
  ['users factor-reset op@example.org', { status: 2, stderr: /--yes/ }],
  ['users uninvite gone', { status: 3, stderr: /no such invitation/ }],
  ['prices list', { stdout: 'm\t2\t3\t-\t-\t\n' }],
  ['prices set m input=5 output=7 --dry-run', { stdout: 'm\tinput\t3\t5\nm\toutput\t-\t7\n', stderr: /^nothing was/ }],
  ['prices set m input=5 output=7', { stdout: 'm\tinput\t3\t5\nm\toutput\t-\t7\n' }],
  ['prices set m input=5', { stdout: '', stderr: 'm has this price already\n' }],
  ['prices set m input', { status: 2, stderr: /^gateway: input: expected NAME=VALUE/ }],
  ['prices show m', { stdout: /^input\t5\tper million tokens\noutput\t7\t/, stderr: /^m: version \d, since / }],
  ['prices history m', { stdout: /\tinput 5, output 7\n.*\tinput 3\n$/ }],
  ['groups multipliers default', { stdout: /^\d+\t\S+Z\t-\t\w+\t1\n$/ }],
  ['usage', { stdout: '' }],
  ['usage --by model,day --json', { stdout: /^\{"data":\[\]/ }],
  ['usage --csv', { stdout: /^request_id,.*\n# rows: 0\n$/ }],
  ['usage --from yesterday', { status: 2, stderr: /^gateway: --from: expected a time/ }],
  ['statement 新客户 --month 2026-01', { stdout: /closing balance/ }],
  ['statement 新客户 --month 2026-01 --json', { stdout: /^\{"account":"新客户","month":"2026-01"/ }],
  ['orders list --state paid', { stdout: '' }],
  ['orders show gone', { status: 3, stderr: /no such order/ }],
  ['orders resolve 1 --action credit', { status: 2, stderr: /^gateway: --reason: expected / }],
  ['orders exceptions', { stdout: '' }],
  ['pay status --json', { stdout: /"uncredited":/ }],
  ['pay set-rate usd 7 --for 1h', { status: 2, stderr: /^gateway: currency: expected the code of a currency/ }],
  ['requests show 0', { status: 3, stderr: /there is no request 0/ }],
  ['requests dispute 0 --settle waive', { status: 2, stderr: /^gateway: --reason: expected / }],
  ['groups delete default --yes', { status: 5, stderr: /still named by/ }],
  ['keys creat', { status: 2, stderr: /Did you mean create\?/ }],
]

async function follow(t: Test, folder: string, more: string[]): Promise<void> {
  for (const [typed, { status = 0, stderr = '', ...expected }] of STEPS) {
    const args = typed.split(' ').map(word => word.replaceAll('\u00a0', ' '))
    t.match(await command([...args, ...more], folder), { status, stderr, ...expected } as Partial<Ended>, typed)
  }
}

t.test('accounts, keys, models, groups, channels: on the store that the config names', async t => {
  const folder = t.testdir({ 'c.yaml': CONFIG })
  await command(['migrate', '--config', 'c.yaml'], folder)
  await follow(t, folder, ['--config', 'c.yaml'])
})

t.test('channels list where the gateway at the ops address refuses the token: what the store knows', async t => {
  const { port } = await openOps(t)
  const listen = { ...LISTEN, ops: `127.0.0.1:${port}` }
  const folder = t.testdir({ 'c.yaml': JSON.stringify({ ...BOOKS, admin_token: `${TOKEN}-of-another`, listen }) })
  await command(['migrate', '--config', 'c.yaml'], folder)
  for (const typed of ['channels list', 'channels show gone'])
    t.match(
      await command([...typed.split(' '), '--config', 'c.yaml'], folder),
      {
        status: typed === 'channels list' ? 0 : 3,
        stdout: '',
        stderr: /only a running gateway knows.*Invalid token/,
      },
      typed,
    )
})

t.test('accounts, keys, models, groups, channels: through a gateway, with --url and its token', async t => {
  const ops = await openOps(t)
  const url = `http://127.0.0.1:${ops.port}`
  await follow(t, t.testdir({}), ['--url', url])
  t.match(await command(['accounts', 'list', '--url', 'http://127.0.0.1:1'], t.testdir({})), {
    status: 1,
    stderr: /^gateway: http:\/\/127\.0\.0\.1:1 does not answer: /,
  })
  const wrong = runBin(['accounts', 'list', '--url', url], t.testdir({}), undefined, { GATEWAY_ADMIN_TOKEN: '' })
  t.match(wrong, { status: 4, stderr: /^gateway: GATEWAY_ADMIN_TOKEN: expected/ })
})

t.test('export: applied where it came from, a catalogue changes nothing', async t => {
  const catalogue = {
    groups: [
      { name: 'default', rate: { requests: 5, minutes: 1 } },
      { name: 'vip', multiplier: 0.8, public: true },
    ],
    models: [
      {
        name: 'm',
        price: { input: 3, output: '9.5', over: [{ tokens: 1000, input: 6, output: 20 }] },
        offline: ['vip'],
        family: 'f',
        max_output: 100,
      },
      { name: `costs ${NO_VARIABLE}`, price: { request: 1 }, max_output: 100 },
    ],
    channels: [
      {
        name: '1 of two',
        base_url: 'http://127.0.0.1:9',
        protocols: ['chat'],
        keys: [{ key: 'one' }, { key: 'two', max_concurrency: 3 }],
        headers: { 'x-plain': `=a ${NO_VARIABLE}`, 'x-api-key': '=hidden-word' },
        proxy: 'http://user:hidden-pass@127.0.0.1:8',
        groups: ['default'],
        models: { m: 'other', [`costs ${NO_VARIABLE}`]: 'x' },
        cost: 0.5,
        translate: true,
      },
      {
        name: 'amazon',
        kind: 'bedrock',
        base_url: 'https://bedrock-runtime.us-east-1.amazonaws.com',
        protocols: ['messages'],
        aws: { access_key_id: 'AKIAHIDDENHIDDEN1234', secret_access_key: AWS_SECRET, region: 'us-east-1' },
        groups: ['vip'],
        models: ['m'],
      },
    ],
    accounts: [{ name: 'a', balance: 7, groups: ['default', 'vip'], budget: { amount: 3, every: 'day' } }],
  }
  const text = JSON.stringify(catalogue, (_, value) =>
    typeof value === 'string' ? value.replaceAll('${', () => '$${') : value,
  )
  const folder = t.testdir({ 'c.yaml': CONFIG, 'cat.yaml': text })
  const at = ['--config', 'c.yaml']
  t.match(await command(['apply', 'cat.yaml', '--force', ...at], folder), { status: 0, stderr: '' })
  const read = async () => {
    const store = openStore(`sqlite:${folder}/books.db`, { secret: TOKEN })
    const { groups, models, channels } = await store.catalogue.read()
    const accounts = await store.accounts.list()
    await store.close()
    return { groups, models, channels, accounts }
  }
  const before = await read()
  const { stdout } = await command(['export', ...at], folder)
  t.notMatch(stdout, /hidden|key: (one|two)\b/i, 'no secret is in it')
  writeFileSync(`${folder}/out.yaml`, stdout)
  const variables = [...stdout.matchAll(/^# {3}(\w+)$/gm)].map(([, name]) => name as string)
  t.same(variables, [
    '_1_OF_TWO_KEY',
    '_1_OF_TWO_KEY_2',
    '_1_OF_TWO_X_API_KEY',
    '_1_OF_TWO_PROXY',
    'AMAZON_ACCESS_KEY_ID',
    'AMAZON_SECRET_ACCESS_KEY',
  ])
  const values = [
    'one',
    'two',
    'hidden-word',
    'http://user:hidden-pass@127.0.0.1:8',
    'AKIAHIDDENHIDDEN1234',
    AWS_SECRET,
  ]
  const env = Object.fromEntries(variables.map((name, i) => [name, values[i] as string]))
  const applied = runBin(['apply', 'out.yaml', '--force', '--json', ...at], folder, undefined, env)
  t.equal(applied.status, 0, applied.stderr)
  for (const [kind, { created, updated }] of Object.entries(
    JSON.parse(applied.stdout) as Record<string, { created: []; updated: [] }>,
  ))
    t.same({ created, updated }, { created: [], updated: [] }, kind)
  t.same(await read(), before)
})

t.test('completion: what can be typed next, in bash', async t => {
  const folder = t.testdir({})
  const { stdout, status } = await command(['completion', 'bash'], folder)
  t.equal(status, 0)
  writeFileSync(`${folder}/script`, stdout)
  const next = (...words: string[]) => {
    const ask = `source ${folder}/script; COMP_WORDS=(gateway "$@"); COMP_CWORD=$#; _gateway; echo "\${COMPREPLY[@]}"`
    return spawnSync('bash', ['-c', ask, 'bash', ...words], { encoding: 'utf8' }).stdout.trim()
  }
  t.equal(next('ke'), 'keys')
  t.equal(next('keys', 'cr'), 'create')
  t.equal(next('keys', 'create', '--all'), '--allow-ips')
  t.equal(next('keys', 'create', 'an-account', '--all'), '--allow-ips', 'behind an argument')
  t.match(
    (await command(['completion', 'fish'], folder)).stdout,
    "complete -c gateway -n '__fish_use_subcommand' -f -a keys\n",
  )
  t.match((await command(['completion', 'zsh'], folder)).stdout, /^autoload .*bashcompinit/)
  t.match(await command(['completion', 'tcsh'], folder), { status: 2, stderr: /Allowed choices are bash, zsh, fish/ })
})

t.test('a table fits a terminal of 80 columns, with Chinese names', async t => {
  const folder = t.testdir({ 'c.yaml': CONFIG })
  const at = ['--config', 'c.yaml']
  await command(['migrate', ...at], folder)
  await command(['groups', 'create', 'default', ...at], folder)
  const name = '一个名字很长很长的客户有限责任公司上海分公司'
  await command(['accounts', 'create', name, '--balance', '1', ...at], folder)
  await command(['keys', 'create', name, 'k', ...at], folder)
  const run = `stty cols 80; ${process.execPath} --disable-warning=ExperimentalWarning ${new URL('../../lib/cli.ts', import.meta.url).pathname} keys list --config c.yaml`
  const seen = spawnSync('script', ['-qec', run, '/dev/null'], { cwd: folder, encoding: 'utf8' })
  if (seen.error !== undefined) return t.comment('skipped: script, which makes a terminal, is not installed')
  // where the machine is slow, the head stands behind how far the command has come
  const [head = '', row = ''] = seen.stdout.split('\r\n').map(line => line.slice(line.lastIndexOf('\r') + 1))
  t.match(head, /^ID +ACCOUNT +NAME +GROUP +STATUS +HINT +USED +EXPIRES/)
  t.match(row, /^1 +一个名.*… +k +default +enabled +sk-…\w{4} +0\.000000 +-/)
  const width = [...row].reduce((sum, character) => sum + (/[\u2e80-\ua4cf]/.test(character) ? 2 : 1), 0)
  t.ok(width <= 80, `${width} columns`)
})
