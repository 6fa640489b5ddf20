/** What roles may do stands in one table, which the calls of the console, the store and the pages follow. */
import { globSync, readFileSync } from 'node:fs'
import t from 'tap'
import { MAKES_KEYS, ROLES } from '../../lib/base/people.ts'
import { OPERATIONS } from '../../lib/console/api/rows.ts'
import { MAY, may, type RolePower, seesOwnOnly } from '../../web/shared/roles.ts'

const powers = Object.keys(MAY) as RolePower[]

t.test('a call of members lets in whom a line of the table names, or all members', async t => {
  const lists: (readonly string[])[] = [ROLES, ...Object.values(MAY)]
  const used = new Set<readonly string[]>()
  for (const { id, who } of OPERATIONS) {
    if (typeof who === 'string') continue
    t.ok(lists.includes(who), id)
    used.add(who)
  }
  for (const power of powers) t.ok(used.has(MAY[power]), `${power} is asked for by a call`)
})

t.test('the store keeps the keys of the roles that may make them', async t => {
  t.same([...MAKES_KEYS].sort(), [...MAY.makeKeys].sort())
})

t.test('owners may everything, and nobody without a role anything', async t => {
  for (const power of powers) {
    t.ok(may('owner', power), power)
    t.notOk(may(undefined, power), power)
  }
  t.same(
    ROLES.filter(role => seesOwnOnly(role)),
    ['member'],
  )
})

t.test('neither pages nor calls compare roles by their names', async t => {
  for (const file of globSync(['web/**/*.ts', 'lib/console/**/*.ts'])) {
    if (file === 'web/shared/roles.ts') continue
    const found = readFileSync(file, 'utf8').match(/\brole\b[^\n]*[=!]== '(owner|viewer|member|billing)'|\['owner'/)
    t.equal(found, null, file)
  }
})
