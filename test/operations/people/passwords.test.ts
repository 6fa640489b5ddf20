import { readdirSync, readFileSync } from 'node:fs'
import { constants, getPriority } from 'node:os'
import t from 'tap'
import { OperationError } from '../../../lib/operations/error.ts'
import { checkNew, Passwords, password } from '../../../lib/operations/people/passwords.ts'

const seat = (network: string, known = false) => ({ network, known })

t.test('a password is hashed with a salt and verified', async t => {
  const passwords = new Passwords()
  const [one, two] = [
    await passwords.hash('pässword 密码', seat('a')),
    await passwords.hash('pässword 密码', seat('a')),
  ]
  t.match(one, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$[\w+/]{22}\$[\w+/]{43}$/)
  t.not(one, two)
  t.strictSame(await passwords.verify('pässword 密码', one, seat('a')), { right: true, stale: false })
  t.strictSame(
    await passwords.verify('pa\u0308ssword 密码', one, seat('a')),
    { right: true, stale: false },
    'typed otherwise',
  )
  for (const wrong of ['password 密码', '', 'pässword 密码 '])
    t.match(await passwords.verify(wrong, one, seat('a')), { right: false })
  t.match(await passwords.verify('pässword 密码', null, seat('a')), { right: false }, 'somebody who has none')
  t.match(await passwords.verify('x', 'no PHC string', seat('a')), { right: false })
})

t.test('a hash of another program is verified, and is to be made anew', async t => {
  // made with the reference implementation: argon2 somesalt -id -t 2 -m 16 -p 1 <<< password
  const phc = '$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc'
  t.strictSame(await new Passwords().verify('password', phc, seat('a')), { right: true, stale: true })
})

t.test('which passwords may be chosen', async t => {
  for (const [text, ok] of [
    ['1234567', false],
    ['12345678', true],
    ['八个字符也可以啊', true],
    ['七个字符不可以', false],
    ['x'.repeat(128), true],
    ['x'.repeat(129), false],
    ['😀'.repeat(128), true],
    ['  spaces  ', true],
    ['lone \ud800 surrogate', false],
    [12345678, false],
  ] as const)
    t.equal(password.safeParse(text).success, ok, String(text).slice(0, 20))
  for (const common of ['password', 'PassWord', 'iloveyou', '1qaz2wsx', 'me@example.org', 'My Own Name'])
    t.throws(() => checkNew(common, ['me@example.org', 'my own name']), OperationError, common)
  checkNew('correct horse battery staple', ['me@example.org'])
})

t.test('who waits has a seat, and half are kept for browsers that are known', async t => {
  const passwords = new Passwords()
  const done: string[] = []
  const verify = (network: string, known = false) =>
    passwords
      .verify('x', null, seat(network, known))
      .then(
        () => 'done',
        error => (error instanceof OperationError ? error.fault : String(error)),
      )
      .then(result => {
        if (result === 'done') done.push(network)
        return result
      })
  const first = verify('first')
  const waiting = Array.from({ length: 16 }, (_, i) => verify(`ip ${i}`))
  t.equal(await verify('ip 0'), 'throttled', 'one seat for each network')
  t.equal(await verify('one more'), 'throttled', 'the half for everybody is taken')
  const known = Array.from({ length: 16 }, (_, i) => verify(`device ${i}`, true))
  t.equal(await verify('a device more', true), 'throttled', 'all are taken')
  t.strictSame(new Set(await Promise.all([first, ...waiting, ...known])), new Set(['done']))
  t.equal(done[0], 'first')
  t.equal(done.length, 33)
  t.equal(await verify('one more'), 'done', 'there is room again')
})

t.test(
  'hashes are made in a thread that gives way to others',
  { skip: process.platform !== 'linux' && 'needs /proc' },
  async t => {
    const [USER, SYSTEM, NICE] = [11, 12, 16]
    const threads = () =>
      readdirSync('/proc/self/task').map(id => {
        const stat = readFileSync(`/proc/self/task/${id}/stat`, 'utf8')
        const fields = stat
          .slice(stat.lastIndexOf(')') + 2)
          .split(' ')
          .map(Number)
        return { id, ticks: fields[USER]! + fields[SYSTEM]!, nice: fields[NICE] }
      })
    const passwords = new Passwords()
    const before = new Map(threads().map(({ id, ticks }) => [id, ticks]))
    for (let i = 0; i < 3; i++) await passwords.hash('a long and winding password', seat('a'))
    const worked = threads().map(thread => ({ ...thread, ticks: thread.ticks - (before.get(thread.id) ?? 0) }))
    const hashing = worked.reduce((most, thread) => (thread.ticks > most.ticks ? thread : most))
    t.equal(
      hashing.nice,
      Math.min(getPriority() + constants.priority.PRIORITY_BELOW_NORMAL, constants.priority.PRIORITY_LOW),
    )
  },
)

t.test('what cannot be hashed fails, and the next one is hashed', async t => {
  const passwords = new Passwords()
  await t.rejects(passwords.verify('x', '$argon2id$v=19$m=1,t=1,p=9$c2FsdHNhbHQ$a2V5a2V5', seat('a')), /^argon2: /)
  t.match(await passwords.verify('x', null, seat('a')), { right: false })
})
