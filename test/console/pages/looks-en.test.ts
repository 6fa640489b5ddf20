/** How every page looks in English. */
import t from 'tap'
import { looks } from './support/everywhere.ts'

looks(t, 'en-US')
