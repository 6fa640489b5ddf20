/**
 * An account had as many keys as its people liked, and as many members; invitations had a bound that several calls at once
 * passed; and whoever was signed in could have letters sent to any number of addresses. Of conflicts that the store found,
 * people were told in English only. `test/store` has the bounds of the store on both engines.
 */
// The bug behind these rows: as many as somebody likes.
import { readdirSync, readFileSync } from 'node:fs'
import t from 'tap'
import { openConsole } from '../../console/support/console.ts'
import { startMailServer } from '../../../tools/simulator/mail-server.ts'
import { newKey, SETUP } from '../../support/store.ts'

t.test('an account has so many keys, and operators decide how many', async t => {
  const house = await openConsole(t, 'limits: { keys: 2 }')
  const [account, other] = [await house.account('acme'), await house.account('other')]
  const ann = await house.person('ann@example.com', { in: { account, role: 'owner' } })
  const bob = await house.person('bob@example.com', { in: { account, role: 'member' } })
  const eve = await house.person('eve@example.com', { in: { account: other, role: 'member' } })
  const make = (who: typeof ann, name: string, there = account) =>
    who.call('keys.create', { account: there, body: { name, group: 'default' } })
  const first = await make(ann, 'one')
  t.same([first.status, (await make(bob, 'two')).status], [201, 201])
  const refused = await make(bob, 'three')
  t.match(refused, { status: 409, code: 'full', json: { error: { message: /has 2 keys.*delete some/i } } })
  const zh = await bob.call('keys.create', {
    account,
    body: { name: 'three', group: 'default' },
    headers: { 'accept-language': 'zh-CN' },
  })
  t.match(zh.json, { error: { message: /账户已有 2 个密钥.*请先删除/ } })
  t.equal((await make(eve, 'one', other)).status, 201, 'of another account')
  const { key } = first.json as { key: { id: string } }
  t.equal((await ann.call('keys.delete', { account, path: { id: key.id } })).status, 204)
  t.equal((await make(bob, 'three')).status, 201)
  t.ok(await house.store.keys.create(newKey(account.id, { name: 'by an operator', hash: 'o' }), SETUP))
})

t.test('an account has so many members', async t => {
  const house = await openConsole(t, 'limits: { members: 2 }')
  const account = await house.account('acme')
  const ann = await house.person('ann@example.com', { in: { account, role: 'owner' } })
  const accept = async (email: string) => {
    const person = await house.person(email)
    const { json } = await ann.call('invitations.create', { account, body: { email, role: 'viewer' } })
    const body = { token: String(json['url']).split('#')[1] }
    return { person, body, answer: await person.call('invitations.accept', { body }) }
  }
  t.equal((await accept('bob@example.com')).answer.status, 204)
  const eve = await accept('eve@example.com')
  t.match(eve.answer, { status: 409, code: 'full', json: { error: { message: /has 2 members/ } } })
  const bob = (await house.store.people.users.byEmail('bob@example.com'))!
  await ann.call('members.remove', { account, path: { id: bob.publicId } })
  t.equal(
    (await eve.person.call('invitations.accept', { body: eve.body })).status,
    204,
    'the invitation was not used up',
  )
})

t.test('an account has so many open invitations, also when they are made at once', async t => {
  const house = await openConsole(t)
  const account = await house.account('acme')
  const owners = await Promise.all(
    [1, 2, 3, 4].map(i => house.person(`o${i}@example.com`, { in: { account, role: 'owner' } })),
  )
  const calls = owners.flatMap((owner, o) =>
    Array.from({ length: 26 }, (_, i) => {
      const body = { email: `p${o}-${i}@example.com`, role: 'viewer' }
      return owner.call('invitations.create', { account, body, headers: { 'x-test-ip': `192.0.2.${o}` } })
    }),
  )
  const statuses = (await Promise.all(calls)).map(({ status }) => status)
  t.same([statuses.filter(status => status === 201).length, statuses.filter(status => status === 409).length], [100, 4])
})

t.test('nobody sends letters to the whole world through this gateway', async t => {
  const { port } = await startMailServer(t)
  const smtp = `smtp: { host: 127.0.0.1, port: ${port}, security: none, from: gateway@example.com }`
  const house = await openConsole(t, `${smtp}\nregistration: { mode: open }`)
  const account = await house.account('acme')
  const eve = await house.person('eve@example.com', { in: { account, role: 'owner' } })
  let sent = 0
  const send = async () => {
    house.clock.advance(2_100) // the bound on calls is not the one that is meant
    return eve.call('me.email', { body: { email: `victim${sent}@example.com` } })
  }
  await eve.call('me.show')
  for (; sent < 150; sent++) {
    const answer = await send()
    if (answer.status === 202) continue
    t.match(answer, { status: 429, code: 'throttled' })
    break
  }
  t.ok(sent >= 99 && sent <= 101, `${sent} letters`)
  const ann = await house.person('ann@example.com', { in: { account, role: 'owner' } })
  t.equal((await ann.call('me.email', { body: { email: 'ann2@example.com' } })).status, 202, 'others still may')
  const ask = (ip: string, i: number) =>
    house.anybody().call('registration.ask', { body: { email: `n${i}@example.com` }, headers: { 'x-test-ip': ip } })
  let asked = 0
  for (; asked < 200; asked++) {
    house.clock.advance(3_100)
    if ((await ask('198.51.100.7', asked)).status !== 202) break
  }
  t.ok(asked >= 99 && asked <= 140, `${asked} letters from one address`)
  t.equal((await ask('198.51.100.8', 900)).status, 202)
})

t.test('what people can come upon is written in both languages', async t => {
  const root = new URL('../../../lib/store/', import.meta.url)
  const people = readdirSync(new URL('people/', root)).map(name => `people/${name}`)
  const files = [...people, 'accounts/keys.ts', 'accounts/key-rows.ts']
  let count = 0
  for (const file of files)
    for (const [, begin] of readFileSync(new URL(file, root), 'utf8').matchAll(
      // only catalogue files and operators name secrets
      /new Store(?:Conflict|Full)\((?!'the secret)([^\n]*)/g,
    )) {
      count++
      t.match(begin, /^\{/, `${file}: ${begin}`)
    }
  t.ok(count >= 12)
  const house = await openConsole(t)
  const account = await house.account('acme')
  const ann = await house.person('ann@example.com', { in: { account, role: 'owner' } })
  for (const [language, said] of [
    ['zh-CN', '账户至少需要一名所有者，请先指定其他所有者'],
    ['en', 'An account keeps at least one owner: make somebody else an owner first'],
  ] as const)
    for (const call of [
      ann.call('me.delete', { headers: { 'accept-language': language } }),
      ann.call('members.leave', { account, headers: { 'accept-language': language } }),
    ]) {
      const { status, json } = await call
      t.equal(status, 409)
      t.ok((json as { error: { message: string } }).error.message.startsWith(said), language)
    }
})
