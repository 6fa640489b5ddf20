/**
 * How likely the tokens of the simulator's answers were, for requests that ask for it. The numbers are made of the tokens alone, so that
 * whoever knows the text of an answer knows them, too.
 */
import type { Fields } from './dialect.ts'
import { fieldsOf } from '../../lib/protocols/json/text.ts'

const MOST_TOP = 20

export interface LikelyToken {
  token: string
  logprob: number
  bytes: number[]
}

/** How many alternatives are asked for beside each token; null = nothing is to be said of them. */
export type Top = number | null

const topIn = (isAsked: boolean, most: unknown): Top =>
  isAsked ? Math.min(MOST_TOP, typeof most === 'number' ? most : 0) : null

export const topOfChat = (body: Fields): Top => topIn(body['logprobs'] === true, body['top_logprobs'])

export const topOfResponses = (body: Fields): Top =>
  topIn([body['include']].flat().includes('message.output_text.logprobs'), body['top_logprobs'])

export function topOfGenerate(body: Fields): Top {
  const config = fieldsOf(body['generationConfig'])
  return topIn(config['responseLogprobs'] === true, config['logprobs'])
}

const tokenOf = (token: string, place: number): LikelyToken => {
  const bytes = [...Buffer.from(token)]
  const sum = bytes.reduce((all, byte) => all + byte, place)
  return { token, logprob: -(sum % 97) / 64, bytes }
}

/** A token, and what might have stood in its place, the token itself first. */
const withTop = (token: string, top: number) => ({
  ...tokenOf(token, 0),
  top_logprobs: Array.from({ length: top }, (_, place) => tokenOf(place === 0 ? token : `${token}${place}`, place)),
})

/** In the words of chat completions and responses. */
export const likely = (tokens: readonly string[], top: Top) =>
  top === null ? [] : tokens.map(token => withTop(token, top))

/** The members of a candidate of generate-content. */
export function likelyResult(tokens: readonly string[], top: Top): object {
  const all = likely(tokens, top)
  if (all.length === 0) return {}
  const candidate = ({ token, logprob }: LikelyToken) => ({ token, logProbability: logprob })
  return {
    avgLogprobs: all.reduce((sum, { logprob }) => sum + logprob, 0) / all.length,
    logprobsResult: {
      ...(top === 0 ? {} : { topCandidates: all.map(one => ({ candidates: one.top_logprobs.map(candidate) })) }),
      chosenCandidates: all.map(candidate),
    },
  }
}
