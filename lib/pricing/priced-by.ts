/**
 * What pricing has to know of each protocol: which prices cover what its answers consist of, and what its requests can
 * cause. Names of protocols that the gateway does not speak yet stand here too, so that their prices are decided.
 */
import type { Price, Protocol } from '../terms/records.ts'

/** Prices that are set together, so that no part of an answer is free by accident. */
type Set = readonly (keyof Price)[]

export interface PricedBy {
  /** A model is priced for the protocol when it has all prices of one of these sets. */
  cover: readonly Set[]
  /** Its answers are pictures, so that the number of answers is a number of pictures. */
  pictures: boolean
  /** The upstream writes to a cache only when it is asked to; on other protocols it does so when it likes. */
  cachesWhenAsked: boolean
}

const TEXT: readonly Set[] = [['request'], ['input', 'output']]

type Coming = 'embeddings' | 'rerank' | 'moderations' | 'speech' | 'transcriptions'

const row = (cover: readonly Set[], { pictures = false, cachesWhenAsked = false } = {}): PricedBy => ({
  cover,
  pictures,
  cachesWhenAsked,
})

export const PRICED_BY: Record<Protocol | Coming, PricedBy> = {
  messages: row(TEXT, { cachesWhenAsked: true }),
  chat: row(TEXT),
  responses: row(TEXT),
  generate: row(TEXT),
  images: row([['image'], ['input', 'output'], ['request']], { pictures: true }),
  embeddings: row([['input'], ['request']]),
  rerank: row([['request'], ['input']]),
  moderations: row([['request'], ['input']]),
  // prices of tokens do not cover speech, because many of its upstreams report no usage
  speech: row([['character'], ['second'], ['request']]),
  transcriptions: row([['second'], ['request'], ['input', 'output']]),
}

/** A price counts only on protocols whose answers it covers. Elsewhere the model is not priced. */
export const covers = (price: Price, { cover }: PricedBy): boolean =>
  cover.some(set => set.every(name => price[name] !== undefined))
