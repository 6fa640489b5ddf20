/**
 * A list of keys went on behind any key that was named, also one of another account or of another member: so its page told
 * how old that key was. Members were numbered by the rows of all users.
 */
// The bug behind these rows: a place among the keys of others.
import t from 'tap'
import { openConsole } from '../support/console.ts'

t.test('a list goes on behind what the reader may see', async t => {
  const house = await openConsole(t)
  const [account, other] = [await house.account('acme'), await house.account('other')]
  const ann = await house.person('ann@example.com', { in: { account, role: 'owner' } })
  const bob = await house.person('bob@example.com', { in: { account, role: 'member' } })
  const eve = await house.person('eve@example.com', { in: { account: other, role: 'owner' } })
  const make = async (who: typeof ann, there: typeof account, name: string) =>
    (
      (await who.call('keys.create', { account: there, body: { name, group: 'default' } })).json as {
        key: { id: string }
      }
    ).key.id
  const own = await make(bob, account, 'own')
  const gone = await make(bob, account, 'gone')
  await bob.call('keys.delete', { account, path: { id: gone } })
  const [foreign, anns] = [await make(eve, other, 'foreign'), await make(ann, account, 'of ann')]
  const rows: [who: typeof ann, after: string, status: number, names: string[]][] = [
    [bob, own, 200, []],
    [bob, gone, 200, ['own']],
    [bob, anns, 404, []],
    [bob, foreign, 404, []],
    [bob, '0'.repeat(20), 404, []],
    [ann, anns, 200, ['own']],
    [ann, gone, 200, ['own']],
    [ann, foreign, 404, []],
    [ann, '0'.repeat(20), 404, []],
  ]
  for (const state of [undefined, 'enabled', 'ip_bound'])
    for (const [who, after, status, names] of rows) {
      const query = { after, ...(state === undefined ? {} : { state }) }
      const sorted = { after: `${after}.9`, sort: '-spent' }
      t.equal((await who.call('keys.list', { account, query: sorted })).status, status, 'in another order')
      const { status: got, json, text } = await who.call('keys.list', { account, query })
      const about = `${who.person.name} behind ${after}, ${state}`
      t.equal(got, status, about)
      if (status === 404) t.notMatch(text, /foreign|of ann/)
      else if (state !== 'ip_bound')
        t.same(
          (json['data'] as { name: string }[]).map(({ name }) => name),
          names,
          about,
        )
    }
})

t.test('a place with a value that no key can have is one in the list all the same', async t => {
  const house = await openConsole(t)
  const account = await house.account('acme')
  const ann = await house.person('ann@example.com', { in: { account, role: 'owner' } })
  const made = await ann.call('keys.create', { account, body: { name: 'own', group: 'default' } })
  const { id } = (made.json as { key: { id: string } }).key
  for (const value of ['1.5', '-1', '1e300', 'Infinity', 'NaN', '0x10', '9007199254740993', '\u00fc\0', '"'])
    for (const sort of ['name', '-created', '-spent', 'last_used']) {
      const reply = await ann.call('keys.list', { account, query: { after: `${id}.${value}`, sort } })
      t.equal(reply.status, 200, `${sort} behind ${value}`)
    }
})

t.test('pages of members name members', async t => {
  const house = await openConsole(t)
  const [account, other] = [await house.account('acme'), await house.account('other')]
  const ann = await house.person('ann@example.com', { in: { account, role: 'owner' } })
  const bob = await house.person('bob@example.com', { in: { account, role: 'viewer' } })
  const eve = await house.person('eve@example.com', { in: { account: other, role: 'owner' } })
  const list = (after?: string) =>
    ann.call('members.list', { account, query: { limit: '1', ...(after === undefined ? {} : { after }) } })
  const first = await list()
  t.equal(first.json['next'], ann.person.publicId)
  t.match((await list(ann.person.publicId)).json, { data: [{ id: bob.person.publicId }] })
  t.equal((await list(eve.person.publicId)).status, 404)
  t.equal((await list('0'.repeat(20))).status, 404)
  t.equal((await list('1')).status, 400)
})
