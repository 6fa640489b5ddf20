/** How a person's own pages look, and those of operators. */
import t from 'tap'
import { looks } from './support/everywhere.ts'

looks(t, ['person', 'operator'])
