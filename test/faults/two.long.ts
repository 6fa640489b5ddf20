import t from 'tap'
import { mariadbStore } from './stores.ts'
import { twoGateways } from './two.ts'

const store = await mariadbStore()
t.teardown(() => store.stop())

t.test('two gateways on one MariaDB', async t => twoGateways(t, store))
