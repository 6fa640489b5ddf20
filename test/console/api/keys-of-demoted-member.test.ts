/**
 * Who was made a viewer, or somebody who only pays, may have no keys, and went on with those of before; so did who was
 * disabled. `test/store/people-suite.ts` has the same on both engines.
 */
// The bug behind these rows: keys of somebody demoted.
import t from 'tap'
import { openConsole, type PersonClient } from '../support/console.ts'

const key = { name: 'mine', group: 'default' }

t.test('the keys go with the right to have them', async t => {
  const house = await openConsole(t)
  const account = await house.account('acme')
  const ann = await house.person('ann@example.com', { in: { account, role: 'owner' } })
  const root = await house.person('root@example.com', { operator: true, factor: true })
  const change = (body: object) => (eve: PersonClient) =>
    ann.call('members.change', { account, path: { id: eve.person.publicId }, body })
  const rows: [what: string, act: (eve: PersonClient) => Promise<{ status: number }>, status: string, by: string][] = [
    ['owner', change({ role: 'owner' }), 'enabled', 'eve'],
    ['viewer', change({ role: 'viewer' }), 'disabled', 'eve'],
    ['billing', change({ role: 'billing' }), 'disabled', 'eve'],
    ['handed over', change({ role: 'billing', keys: 'hand_over' }), 'enabled', 'ann'],
    [
      'disabled',
      eve => root.call('users.change', { path: { id: eve.person.publicId }, body: { status: 'disabled' } }),
      'disabled',
      'eve',
    ],
  ]
  for (const [i, [what, act, status, maker]] of rows.entries()) {
    const eve = await house.person(`eve${i}@example.com`, { in: { account, role: 'member' } })
    const { json } = await eve.call('keys.create', { account, body: { ...key, name: `mine ${i}` } })
    const { id } = (json as { key: { id: string } }).key
    let told = 0
    const { changed } = house.deps.fleet
    house.deps.fleet.changed = async () => {
      told++
      await changed()
    }
    t.equal((await act(eve)).status, 200, what)
    house.deps.fleet.changed = changed
    t.equal(told, 1, 'the processes that serve hear of it before the answer')
    const row = await house.store.keys.byPublicId(id)
    t.equal(row?.status, status, what)
    t.equal(row?.createdBy, maker === 'ann' ? ann.person.id : eve.person.id, what)
  }
})
