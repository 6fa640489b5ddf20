/**
 * What tools of the upstream cost by the piece. Each tool that a request names, and that is neither free nor paid in tokens,
 * has a fee in the model's price, or the request is not admitted.
 */
import type { AskedTool, UsedTool } from '../protocols/words/server-tools.ts'
import type { ToolFee } from '../protocols/words/usage.ts'
import type { Model, Price } from '../terms/records.ts'

/** `call`: each use. `container`: each container in which the tool ran. `request`: a request that used it. */
type Unit = 'call' | 'container' | 'request'

export interface PricedTool {
  name: ToolFee
  /** In micro-CNY. */
  price: number
  unit: Unit
}

export class ToolFees {
  readonly #price: Price
  readonly #tools: ReadonlyMap<string, number>

  constructor(price: Price) {
    this.#price = price
    this.#tools = new Map(Object.entries(price.tools ?? {}).map(([name, amount]) => [name.toLowerCase(), amount]))
  }

  /** All fees, by name. */
  get listed(): readonly (readonly [name: ToolFee, price: number])[] {
    const { maps, container, code_execution, tools } = this.#price
    return [
      ...(maps === undefined ? [] : [['maps', maps] as const]),
      ...Object.entries(container ?? {}).map(([size, price]) => [`container.${size}`, price] as const),
      ...(code_execution === undefined ? [] : [['code_execution', code_execution] as const]),
      ...Object.entries(tools ?? {}).map(([name, price]) => [`tools.${name}`, price] as const),
    ] as const
  }

  /** The fee of a tool; null = it has none. Of searches of the web only those that the price names among other tools. */
  of({ stem, cost, size }: AskedTool): PricedTool | null {
    const own = this.#tools.get(stem.toLowerCase())
    if (own !== undefined) return { name: `tools.${stem.toLowerCase()}`, price: own, unit: 'call' }
    const { maps, container, code_execution, search_unit } = this.#price
    if (cost === 'maps') return feeOf('maps', maps, search_unit === 'prompt' ? 'request' : 'call')
    if (cost === 'container')
      return feeOf(
        `container.${size}`,
        Object.hasOwn(container ?? {}, size) ? container?.[size] : undefined,
        'container',
      )
    return cost === 'code_execution' ? feeOf('code_execution', code_execution, 'request') : null
  }
}

const feeOf = (name: ToolFee, price: number | undefined, unit: Unit): PricedTool | null =>
  price === undefined ? null : { name, price, unit }

/** For how many pieces a request is held that names a tool. */
export const mostPieces = (
  { unit }: PricedTool,
  { uses }: AskedTool,
  { maxSearches }: Model,
  maxToolCalls: number | null,
): number => (unit === 'call' ? Math.min(uses ?? maxToolCalls ?? maxSearches, maxToolCalls ?? Infinity) : 1)

/** How many pieces an answer is charged for. */
export const piecesOf = ({ unit }: PricedTool, { calls, containers }: UsedTool): number =>
  unit === 'call' ? calls : unit === 'container' ? containers : Math.min(1, calls)
