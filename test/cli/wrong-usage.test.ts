/**
 * What is typed is judged before anything is opened: each command is told something wrong, with a config that is not there and
 * with the address of a gateway that is not there. Exit codes, one row each.
 */
import { readFileSync } from 'node:fs'
import t from 'tap'
import { commandLine } from '../support/command-line.ts'

process.env['GATEWAY_ADMIN_TOKEN'] = 'a-long-enough-token'
const command = commandLine()

/** What is typed wrong, and what the refusal names. */
const WRONG: readonly [typed: string, named: RegExp][] = [
  ['serve --nope', /unknown option '--nope'/],
  ['check --nope', /unknown option '--nope'/],
  ['migrate --nope', /unknown option '--nope'/],
  ['apply', /missing required argument 'file'/],
  ['audit --nope', /unknown option '--nope'/],
  ['backup', /missing required argument 'file'/],
  ['prune --before soon --yes', /before: expected a time/],
  ['prune --before 2026-01-01', /prune: without a terminal, say --yes/],
  ['rollups rebuild --nope', /unknown option '--nope'/],
  ['doctor --silence x', /Expected a duration/],
  ['doctor --base https://x.example --key sk-secret', /Expected the name of a variable, or - .* not the key itself/],
  ['simulate --latency 5', /Expected a duration/],
  ['demo --nope', /unknown option '--nope'/],
  ['completion tcsh', /Allowed choices are bash, zsh, fish/],
  ['export --url 127.0.0.1:3002', /--url: expected the address/],
  ['groups list --url ftp://127.0.0.1', /--url: expected the address/],
  ['export --nope', /unknown option '--nope'/],
  ['statement a', /--month: expected a month/],
  ['accounts list --limit 0', /Expected a whole number above 0/],
  ['accounts show', /missing required argument 'name'/],
  ['accounts create a --balance much', /--balance: expected an amount/],
  ['accounts set a --status maybe', /--status: expected one of active, banned/],
  ['accounts ban', /missing required argument 'name'/],
  ['accounts unban', /missing required argument 'name'/],
  ['accounts topup a much r', /amount: expected an amount/],
  ['accounts adjust a much r', /amount: expected an amount/],
  ['accounts entries a --from soon', /--from: expected a day/],
  ['keys list --limit 1.5', /Expected a whole number above 0/],
  ['keys create a k --sha256 sk-x', /--sha256: expected a SHA-256/],
  ['keys set 1 --cap much', /--cap: expected/],
  ['keys roll 1 --grace soon', /--grace: expected/],
  ['keys delete 1', /keys delete: without a terminal, say --yes/],
  ['models list --nope', /unknown option '--nope'/],
  ['models show', /missing required argument 'name'/],
  ['models create m --max-output many', /--max-output: expected a whole number/],
  ['models set m --max-output many', /--max-output: expected a whole number/],
  ['models delete m', /models delete: without a terminal, say --yes/],
  ['groups list --nope', /unknown option '--nope'/],
  ['groups show', /missing required argument 'name'/],
  ['groups create g --multiplier many', /--multiplier: expected/],
  ['groups set g --rate often', /--rate: expected/],
  ['groups delete g', /groups delete: without a terminal, say --yes/],
  ['groups multipliers g --limit 0', /Expected a whole number above 0/],
  ['channels list --nope', /unknown option '--nope'/],
  ['channels show', /missing required argument 'name'/],
  ['channels create c --base-url http://127.0.0.1:9', /protocols: expected/],
  ['channels set c --weight heavy', /--weight: expected/],
  ['channels delete c', /channels delete: without a terminal, say --yes/],
  ['channels test c --protocol soap', /--protocol: expected/],
  ['channels rest c --for long', /--for: expected a duration/],
  ['channels wake', /missing required argument 'name'/],
  ['users list --role boss', /--role: expected one of operator/],
  ['users show', /missing required argument 'user'/],
  ['users invite --email nobody', /--email: expected/],
  ['users invitations --nope', /unknown option '--nope'/],
  ['users uninvite', /missing required argument 'invitation'/],
  ['users disable a@example.org', /users disable: without a terminal, say --yes/],
  ['users enable', /missing required argument 'user'/],
  ['users end-sessions', /missing required argument 'user'/],
  ['users reset', /missing required argument 'user'/],
  ['users factor-reset a@example.org', /users factor-reset: without a terminal, say --yes/],
  ['prices list --at soon', /--at: expected a time/],
  ['prices show', /missing required argument 'model'/],
  ['prices history m --limit many', /Expected a whole number above 0/],
  ['prices set m input', /input: expected NAME=VALUE/],
  ['prices import list.json', /--rate: expected how many CNY one USD is/],
  ['usage --from yesterday', /--from: expected a time/],
  ['usage --by colour', /--by: expected some of/],
  ['usage --by model --sort colour', /--sort: expected/],
  ['usage --csv --key x', /--key: expected/],
  ['requests list --outcome bad', /--outcome: expected one of/],
  ['requests show', /missing required argument 'id'/],
  ['requests dispute 1 --settle maybe --reason x', /--settle: expected one of charge, waive/],
  ['refusals list --from soon', /--from: expected a time/],
  ['refusals count --by colour', /--by: expected/],
  ['senders list --by colour', /--by: expected/],
  ['actions list --limit none', /Expected a whole number above 0/],
  ['orders list --state lost', /--state: expected one of/],
  ['orders show', /missing required argument 'order'/],
  ['orders refund o --amount 1 --reference r', /--reason: expected a reason/],
  ['orders release o', /--reason: expected a reason/],
  ['orders exceptions --kind x', /--kind: expected one of/],
  ['orders resolve 1 --action both --reason x', /--action: expected one of credit, close/],
  ['orders to-send --nope', /unknown option '--nope'/],
  ['orders sent 1 --tx 0x1', /--tx: expected/],
  ['orders addresses --nope', /unknown option '--nope'/],
  ['orders rewind --block first --reason x', /--block: expected a whole number/],
  ['pay status --nope', /unknown option '--nope'/],
  ['pay rates --nope', /unknown option '--nope'/],
  ['pay set-rate usd 7 --for 1h', /currency: expected the code of a currency/],
  ['pay doctor cash --account a', /Allowed choices are/],
  ['pay doctor alipay --account a --amount much', /Expected an amount/],
]

t.test('wrong usage is exit 2 and one line, before a store is opened or a gateway asked', async t => {
  const folder = t.testdir({ 'list.json': '{}' })
  for (const [typed, named] of WRONG) {
    const places = typed.startsWith('completion') ? [[]] : [['--config', 'gone.yaml']]
    const help = await command(
      [...typed.split(' ').filter(word => /^[a-z-]+$/.test(word) && !word.startsWith('--')), '--help'],
      folder,
    )
    if (help.stdout.includes('--url <url>') && !typed.includes('--url')) places.push(['--url', 'http://127.0.0.1:1'])
    for (const place of places)
      t.match(await command([...typed.split(' '), ...place], folder), { status: 2, stdout: '', stderr: named }, typed)
  }
})

t.test('every command is in the table', async t => {
  const { stdout } = await command(['completion', 'bash'], t.testdir({}))
  const paths = [...stdout.matchAll(/^ {4}'([^']+)'\) COMPREPLY/gm)].map(([, path]) => path as string)
  const leaves = paths.filter(path => !paths.some(other => other.startsWith(`${path} `)))
  t.ok(leaves.length > 60)
  for (const leaf of leaves)
    t.ok(
      WRONG.some(([typed]) => `${typed} `.startsWith(`${leaf} `)),
      leaf,
    )
})

t.test('exit codes: each of the table of docs/operating.md', async t => {
  const page = readFileSync(new URL('../../docs/operating.md', import.meta.url), 'utf8')
  const listed = [...page.matchAll(/^\| (\d) \| /gm)].map(([, code]) => Number(code))
  const folder = t.testdir({
    'c.yaml': JSON.stringify({ store: 'sqlite:books.db', journal: 'j', admin_token: 'a-long-enough-token' }),
  })
  const rows: [status: number, typed: string][] = [
    [0, 'migrate --config c.yaml'],
    [0, 'groups create g --config c.yaml'],
    [1, 'groups list --config gone.yaml'],
    [1, 'groups list --url http://127.0.0.1:1'],
    [2, 'groups list --nope'],
    [3, 'groups show gone --config c.yaml'],
    [4, 'groups list --url http://127.0.0.1:1'],
    [5, 'groups create g --config c.yaml'],
  ]
  for (const [status, typed] of rows) {
    const env = status === 4 ? '' : 'a-long-enough-token'
    t.equal((await command(typed.split(' '), folder, { env: { GATEWAY_ADMIN_TOKEN: env } })).status, status, typed)
  }
  t.same([...new Set(rows.map(([status]) => status))], listed)
})
