/**
 * Notes of the attempts of one exchange, for its row in the books: which channel was asked, what it answered, why that was no
 * answer, and how long it took. Nearly every exchange has one attempt, of which nothing is noted before its end.
 */
import type { AttemptNote } from '../../terms/records.ts'
import type { Attempt } from '../../upstream/attempt.ts'

export class AttemptNotes {
  /** Attempts that were given up; null = none. */
  #given: Attempt[] | null = null
  #notes: AttemptNote[] | null = null

  /** An attempt is over, and another one counts in its place. Returns its note. */
  giveUp(attempt: Attempt, nowMs: number, why: string): AttemptNote {
    this.#given ??= []
    this.#notes ??= []
    this.#given.push(attempt)
    const note = noteOf(attempt, nowMs, attempt.error === null ? why : wordOf(attempt.error))
    this.#notes.push(note)
    return note
  }

  /** Of all attempts. `current`: the one that counts. `why`: what is wrong with its answer; null = nothing. */
  all(current: Attempt, nowMs: number, why: string | null): readonly AttemptNote[] {
    if (this.#notes !== null && this.#given?.includes(current)) return this.#notes
    const note = noteOf(current, nowMs, current.error === null ? why : wordOf(current.error))
    return this.#notes === null ? [note] : [...this.#notes, note]
  }
}

const noteOf = ({ claim, status, startedMs }: Attempt, nowMs: number, error: string | null): AttemptNote => ({
  channel: claim.candidate.channel.name,
  status,
  error,
  ms: Math.max(0, Math.round(nowMs - startedMs)),
})

/** The code of the system or of the connection where there is one. */
const wordOf = (error: Error): string => (error as NodeJS.ErrnoException).code ?? error.name
