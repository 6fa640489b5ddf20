import t from 'tap'
import { drains } from './drained.ts'

t.test('SQLite', t => drains(t, 'sqlite'))
