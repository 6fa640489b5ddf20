/**
 * A gateway's ledger as a process of its own: `node process.ts STORE FOLDER HOLDER KEY`. Charges 10 to the key, says so
 * before the store can know, and lives until it is killed. Its clock stands still, so nothing is ever moved to the store.
 */
import { micro } from '../../lib/base/money.ts'
import { type Hold, Ledger } from '../../lib/ledger/ledger.ts'
import { openStore } from '../../lib/store/store.ts'
import { TestClock } from '../support/clock.ts'
import { kept } from '../support/kept.ts'
import { usageRow } from '../support/store.ts'

const [url, folder, holder, id] = process.argv.slice(2) as [string, string, string, string]
const store = openStore(url, { secret: 'a test secret' })
const key = (await store.keys.byId(Number(id)))!
const log = { info() {}, warn() {}, error() {} }
try {
  const ledger = await Ledger.open({ store, clock: new TestClock(), log, folder, limitBytes: 1 << 20, holder })
  const hold = (await ledger.reserve({ id: key.accountId, budget: null }, key, micro(10))) as Hold
  await kept(ledger.settle(hold, usageRow(`01zzzzzzzzzzz${holder}`, key, 10)))
  console.log('charged')
  setInterval(() => ledger.accepting, 1_000_000) // a ledger that nobody has is collected, and its lock with it
} catch (error) {
  console.log((error as Error).name)
  process.exit(1)
}
