/**
 * A cheat is a row: with how little money it begins, what it tries, what that is worth at list prices as the upstream
 * means it, and how much of that may stay unpaid. The gateway and its books are real, the upstream is scripted, and time is
 * injected.
 */
import type { Test } from 'tap'
import { MODEL, open, type Options, type Scene } from '../exchange/support/gateway.ts'

export interface Cheat {
  name: string
  /** What the cheat's account begins with, in micro-CNY. */
  credit: number
  options?: Options
  /** Tries it, and returns what all that the upstream billed is worth at list prices, in micro-CNY. */
  tries(scene: Scene, t: Test): Promise<number>
  /** The most that may stay unpaid, in micro-CNY, and why. Absent: nothing. */
  unpaid?: { most: number; why: string }
}

/** Of text alone: where pictures have a price, an answer may be one. */
export const PRICES = { [MODEL]: { input: 2, output: 8 } }

/** Runs a row in a gateway of its own, and says what came of it. */
export function cheat(t: Test, { name, credit, options, tries, unpaid = { most: 0, why: '' } }: Cheat): void {
  t.test(`cheat: ${name}`, async t => {
    const scene = await open(t, { prices: PRICES, ...options, credit })
    const got = await tries(scene, t)
    const { rows, ok, left } = await scene.books()
    const paid = rows.reduce((sum, row) => sum + row.charge, 0)
    const lost = got - Math.min(paid, credit)
    t.ok(ok, 'the books add up')
    t.match(left, { holds: 0, held: 0 })
    t.ok(lost <= unpaid.most, `unpaid: ${lost}, at most ${unpaid.most} ${unpaid.why}`)
    t.comment(`balance ${credit}, got ${got}, charged ${paid}, unpaid ${Math.max(0, lost)}`)
  })
}
