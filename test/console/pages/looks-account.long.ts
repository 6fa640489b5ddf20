/** How the pages of an account look. */
import t from 'tap'
import { looks } from './support/everywhere.ts'

looks(t, ['account'])
