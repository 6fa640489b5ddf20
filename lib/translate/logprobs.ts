/**
 * How likely the tokens of a text were (`logprobs`), as answers say it. Chat completions and responses have the same form, in which a token
 * has its alternatives with it; generate-content has them in a list beside the tokens.
 */
import { decode } from '../protocols/json/text.ts'
import type { LikelyToken, Logprobs } from './events.ts'
import { array, type JsonText, type Literal, object, oneLine } from './json/literal.ts'
import type { Node, Tree } from './json/tree.ts'

/** The bytes of a token, where the upstream does not tell them. */
export const bytesOf = (token: Literal): JsonText => `[${[...Buffer.from(decode(token) ?? '')].join(',')}]`

// --- chat completions and responses

/** A token without a number says nothing. */
function tokenIn(tree: Tree, node: Node): LikelyToken | null {
  const token = tree.literal(node, 'token')
  if (token === null || tree.number(node, 'logprob') === null) return null
  const list = tree.get(node, 'bytes')
  const said = tree.kind(list) === 'array' ? oneLine(tree.source(list)) : bytesOf(token)
  const bytes = tree.kind(list) === 'scalar' ? null : said
  return { token, logprob: tree.source(node, 'logprob'), bytes }
}

/** `list`: the tokens of a text. */
export function logprobsIn(tree: Tree, list: Node): Logprobs {
  return tree.elements(list).flatMap(node => {
    const token = tokenIn(tree, node)
    const top = tree.elements(node, 'top_logprobs').flatMap(one => tokenIn(tree, one) ?? [])
    return token === null ? [] : [{ ...token, top }]
  })
}

/** `noBytes`: what stands where a token has none. */
export const logprobsText = (all: Logprobs, noBytes: 'null' | '[]'): JsonText => {
  const membersOf = ({ token, logprob, bytes }: LikelyToken) => ({ token, logprob, bytes: bytes ?? noBytes })
  const tokens = all.map(({ top, ...token }) =>
    object({ ...membersOf(token), top_logprobs: array(top.map(one => object(membersOf(one)))) }),
  )
  return array(tokens)
}

// --- generate-content

export function logprobsResult(all: Logprobs): JsonText {
  const candidate = ({ token, logprob }: LikelyToken) => object({ token, logProbability: logprob })
  const tops = all.map(({ top }) => object({ candidates: array(top.map(candidate)) }))
  return object({
    topCandidates: all.some(({ top }) => top.length > 0) ? array(tops) : undefined,
    chosenCandidates: array(all.map(candidate)),
  })
}

/** How likely the tokens of an answer were on average. */
export class Average {
  #sum = 0
  #count = 0

  add(all: Logprobs): void {
    for (const { logprob } of all) this.#sum += Number(logprob)
    this.#count += all.length
  }

  /** undefined = there were no tokens. */
  get text(): JsonText | undefined {
    return this.#count === 0 ? undefined : JSON.stringify(this.#sum / this.#count)
  }
}
