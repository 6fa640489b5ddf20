import t from 'tap'
import { killOnSqlite } from './killed.ts'

t.test('SQLite', killOnSqlite)
