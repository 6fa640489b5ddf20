/**
 * A plan is a list of stages that run over one exchange, one after the other. No stage wraps another. Each asks one question and
 * either refuses the request or adds a fact to the record. The only work that comes after the stages is `finish`, and that cannot
 * be skipped.
 *
 * The compiler checks the order: a stage names what it needs and what it gives, and `step` takes it only when everything that it
 * needs was given before.
 */
import type { Exchange } from './record/exchange.ts'
import { fail, type StageResult, NEXT, type StageVerdict } from './record/ending.ts'
import type { Services } from './record/services.ts'

/** What a stage does. It is handed the record, and the services of which it takes what it needs. */
type Run = (x: Exchange, services: Services) => StageResult | Later

/** What stages give each other. */
export type Fact =
  | 'target'
  | 'secret'
  | 'key'
  | 'admitted'
  | 'throttled'
  | 'body'
  | 'confirmed'
  | 'model'
  | 'maker'
  | 'route'
  | 'tariff'
  | 'hold'

export interface Stage<Needs extends Fact, Gives extends Fact> {
  (x: Exchange, services: Services): StageResult | Later
  needs?: Needs
  gives?: Gives
}

/** Makes a stage of a function. What the stage needs and gives stands in the types. */
export const stage = <Needs extends Fact = never, Gives extends Fact = never>(run: Run): Stage<Needs, Gives> => run

export class Plan<Has extends Fact = never> {
  readonly stages: readonly Run[]

  constructor(stages: readonly Run[] = []) {
    this.stages = stages
  }

  step<Needs extends Fact, Gives extends Fact>(
    next: [Needs] extends [Has] ? Stage<Needs, Gives> : never,
  ): Plan<Has | Gives> {
    return new Plan<Has | Gives>([...this.stages, next])
  }
}

/** A stage returns this that hears itself when it can go on: a promise would take a turn of the queue of ticks. */
export class Later {
  #plan: Plan<Fact> | null = null
  #at = 0

  /** The stage waits, and the plan goes on with the one at this place. */
  precedes(plan: Plan<Fact>, at: number): void {
    this.#plan = plan
    this.#at = at
  }

  protected goOn(x: Exchange, services: Services): void {
    if (this.#plan !== null && !x.answered && !x.finished) runPlan(this.#plan, x, services, this.#at)
  }
}

/** Runs the stages in order until one says `DONE`. What a stage throws becomes the 500 row; nothing is thrown from here. */
export function runPlan(plan: Plan<Fact>, x: Exchange, services: Services, from = 0): void {
  const { stages } = plan
  try {
    for (let i = from; i < stages.length; i++) {
      const answer = (stages[i] as Run)(x, services)
      if (answer === NEXT) continue
      if (answer instanceof Later) answer.precedes(plan, i + 1)
      else if (typeof answer === 'object') wait(plan, x, services, i, answer)
      return
    }
  } catch (error) {
    fail(x, services, error)
  }
}

function wait(plan: Plan<Fact>, x: Exchange, services: Services, at: number, answer: Promise<StageVerdict>): void {
  answer.then(
    verdict => {
      if (verdict === NEXT && !x.answered && !x.finished) runPlan(plan, x, services, at + 1)
    },
    error => fail(x, services, error),
  )
}
