/**
 * The receipt of an id that no gateway can have made, because letters of it are in no id, was answered with the totals of a
 * day, as if that request were pruned.
 */
// The bug behind these rows: an id that was never made.
import t from 'tap'
import { idAt } from '../../lib/base/ids.ts'
import { openOps } from './support.ts'
import { fund, settlement, usageRow } from '../support/store.ts'

const AT = Date.parse('2026-01-01T00:00:00Z')

t.test('only an id can be pruned', async t => {
  const ops = await openOps(t)
  const { key } = await fund(ops.store, 'acme', 1_000)
  await ops.store.holders.register({ id: 'here', host: 'h', beat: 0 })
  const id = `${idAt(AT)}n0de0100000`
  await ops.store.books.settle([settlement(usageRow(id, key, 1), 'here', 0)], false)
  await ops.store.usage.prune(AT + 1_000, 10)
  const status = async (asked: string) => (await ops.admin('GET', `/admin/requests/${asked}`)).status
  t.equal(await status(id), 410)
  t.equal(await status(`${id}.1`), 410, 'an attempt of it may have had a row')
  for (const letter of ['i', 'l', 'o', 'u']) t.equal(await status(id.slice(0, -1) + letter), 404, letter)
  for (const other of ['l'.repeat(21), id.slice(1), `${id}0`, `${id}.`, `${id}.x`, '0'])
    t.equal(await status(other), 404, other)
})
