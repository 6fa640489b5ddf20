/**
 * What the upstream of a channel takes for an answer, for margins only: a factor of the model's own price, or prices of
 * its own by model. Price lists and tiers act as they do on the charge; the group's multiplier does not.
 */
import type { Micro } from '../base/money.ts'
import type { Channel, Line } from '../terms/records.ts'
import { amountOf, type Factor, factorOf, MILLIONTHS } from './amount.ts'
import { type BilledAnswer, receiptLines, type Priced } from './bill.ts'
import { ModelPrice } from './model-price.ts'

const WITHOUT_MULTIPLIER = factorOf(MILLIONTHS)

export class Cost {
  readonly #factor: Factor | null
  readonly #prices: ReadonlyMap<string, ModelPrice>

  constructor(cost: NonNullable<Channel['cost']>) {
    this.#factor = typeof cost === 'number' ? factorOf(cost) : null
    const prices = typeof cost === 'number' ? [] : Object.entries(cost)
    this.#prices = new Map(prices.map(([model, price]) => [model, new ModelPrice(model, price, null)]))
  }

  /** `lines`: those of the charge. `asked`: the tariff of the asked model. null = not known for one of the models. */
  of(lines: readonly Line[], answer: BilledAnswer, asked: Priced): Micro | null {
    if (this.#factor !== null) return amountOf(lines, this.#factor)
    const whole = this.#priced(asked)
    const parts = (answer.parts ?? []).map(({ tariff, usage }) => ({ tariff: this.#priced(tariff), usage }))
    const known = parts.filter((part): part is { tariff: Priced } & typeof part => part.tariff !== null)
    if (known.length < parts.length || (whole === null && parts.length !== 1)) return null
    const taken = receiptLines({ ...answer, parts: known }, whole ?? (known[0] as (typeof known)[0]).tariff)
    return amountOf(taken.lines, WITHOUT_MULTIPLIER)
  }

  /** null = one of the models has no price here. */
  #priced({ prices }: Priced): Priced | null {
    const own = prices.flatMap(({ model }) => this.#prices.get(model) ?? [])
    return own.length === prices.length ? { prices: own as [ModelPrice, ...ModelPrice[]] } : null
  }
}
