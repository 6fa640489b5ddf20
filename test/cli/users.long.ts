/** `gateway users …` against a store of its own. */
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import t from 'tap'
import { BIN } from '../support/gateway.ts'

const folder = t.testdir()
writeFileSync(
  `${folder}/c.yaml`,
  'store: sqlite:books.db\nsecret: a-secret-for-tests\nadmin_token: a-token-for-tests\n',
)

function run(...args: string[]) {
  const command = [...args, '--config', 'c.yaml']
  const { status, stdout, stderr } = spawnSync(BIN, command, { cwd: folder, encoding: 'utf8' })
  return { status, stdout, stderr }
}

t.test('the first operator, and what becomes of a user', async t => {
  t.match(run('users', 'list'), { status: 1, stderr: /expected a store/ }, 'a command makes no store')
  run('migrate')
  const invited = run('users', 'invite', '--role', 'operator', '--email', 'Op@Example.org')
  t.match(invited, {
    status: 0,
    stdout: /^email\top@example\.org\n(.*\n)*url\thttp:\/\/127\.0\.0\.1:3000\/console\/invitation#[\w-]{43}$/m,
    stderr: '',
  })
  const json = JSON.parse(run('users', 'invite', '--email', 'a@example.org', '--json').stdout) as object
  t.match(json, { email: 'a@example.org', role: null, url: /#/ })
  for (const [args, status] of [
    [['users', 'invite', '--email', 'no e-mail'], 2],
    [['users', 'invite', '--email', 'a@example.org', '--role', 'owner'], 2],
    [['users', 'invite', '--email', 'a@example.org', '--role', 'owner', '--account', 'nope'], 3],
    [['users', 'invite'], 2],
    [['users', 'show', 'nobody@example.org'], 3],
    [['users', 'reset', 'nobody@example.org'], 3],
  ] as [string[], number][])
    t.match(run(...args), { status, stdout: '' }, args.join(' '))
  t.strictSame(run('users', 'list'), { status: 0, stdout: '', stderr: '' })
})

t.test('a user that is there', async t => {
  const { openStore } = await import('../../lib/store/store.ts')
  const { COMMAND } = await import('../../lib/base/people.ts')
  const store = openStore(`sqlite:${folder}/books.db`, { secret: 'a-secret-for-tests' })
  await store.migrate()
  const user = { email: 'ann@example.org', name: 'Ann', password: null, operator: false, language: null, atMs: 1 }
  const { publicId } = await store.people.users.create(user, { actor: COMMAND, operation: 'test' })
  t.teardown(() => store.close())
  t.equal(run('users', 'list').stdout, `${publicId}\tann@example.org\tAnn\tactive\tfalse\tfalse\n`)
  t.match(JSON.parse(run('users', 'list', '--json').stdout), { data: [{ id: publicId, email: 'ann@example.org' }] })
  t.match(run('users', 'disable', 'ann@example.org', '--yes'), { status: 0, stdout: /^status\tdisabled$/m })
  t.match(run('users', 'enable', publicId), { status: 0, stdout: /^status\tactive$/m })
  t.match(run('users', 'reset', publicId), { status: 0, stdout: /^url\t\S+\/console\/reset#[\w-]{43}$/m })
  t.match(run('users', 'end-sessions', publicId), { status: 0, stdout: 'ended\t0\n' })
  t.match(run('users', 'factor-reset', publicId), { status: 2, stderr: /--yes/ })
  t.match(run('users', 'factor-reset', publicId, '--yes'), { status: 0, stdout: '' })
  const told = (await store.people.users.byId(1))?.notices.map(({ kind }) => kind)
  t.strictSame(told, ['reset_link', 'factor_reset'])
  t.match(await store.actions.page({ limit: 1 }), [{ operation: 'users.factor_reset', actor: { kind: 'cli' } }])
})

t.test('a gateway with users does not start without a secret of its own', async t => {
  writeFileSync(`${folder}/c.yaml`, 'store: sqlite:books.db\nadmin_token: a-token-for-tests\n')
  t.match(run('serve'), { status: 1, stderr: /secret: expected a secret of its own, because there are users/ })
})
