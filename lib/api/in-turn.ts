/** Makes the pieces of an export in turn with those of other exports. */
import type { AnswerPieces } from './operation.ts'
import type { Seats } from './seats.ts'

/** `name`: one export has one. `return` goes through at once, also while a piece is being made. */
export function inTurn(pieces: AnswerPieces, seats: Seats, name: string): AnswerPieces {
  const end = async () => (await pieces.return?.()) ?? { value: undefined, done: true as const }
  let isOver = false
  const made: AnswerPieces = {
    async next() {
      const leave = await seats.take(name)
      try {
        return isOver ? await end() : await pieces.next()
      } finally {
        leave()
      }
    },
    return() {
      isOver = true
      return end()
    },
    [Symbol.asyncIterator]: () => made,
  }
  return made
}
