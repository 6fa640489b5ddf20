/** How the pages look at a glance; `looks-*.long.ts` look closely. */
import t from 'tap'
import { glances } from './support/everywhere.ts'

glances(t)
