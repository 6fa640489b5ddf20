/** What the calls of the console are given: what operations on people are, which is more than other operations need. */
import type { PeopleDeps } from '../../operations/people/deps.ts'

export type ConsoleDeps = PeopleDeps
