/** How the pages for everybody look, and those that lead in. */
import t from 'tap'
import { looks } from './support/everywhere.ts'

looks(t, ['public', 'entry'])
