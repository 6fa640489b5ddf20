import t from 'tap'
import { drains } from './drained.ts'

t.test('MariaDB', t => drains(t, 'mysql'))
