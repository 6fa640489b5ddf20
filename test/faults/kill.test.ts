import t from 'tap'
import { killOnMariadb } from './killed.ts'

t.test('MariaDB', killOnMariadb)
