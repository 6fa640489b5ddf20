/** The questions that are asked of a node of the chain, with every answer checked before it is used. */
import type { Clock } from '../../base/clock.ts'
import type { Store } from '../../store/store.ts'
import type { BlockRef, ChainAddress, NewTransfer, Transfer } from '../../terms/chain.ts'
import { AnswerTooLarge, ask } from '../provider-http.ts'
import { ProviderAway, ProviderRefuses } from '../method.ts'
import { LATEST_S } from '../exceptions.ts'

export interface Block extends BlockRef {
  atMs: number
}

export interface Token {
  chainId: number
  /** In lower case. */
  contract: string
}

/** The hash of `Transfer(address,address,uint256)`. */
const TRANSFER = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'
/** The beginnings of the calls `decimals()` and `balanceOf(address)`. */
const DECIMALS_CALL = '0x313ce567'
const BALANCE_CALL = '0x70a08231'
const DECIMALS = 18n
const SUCCESS = '0x1'

const HASH = /^0x[0-9a-f]{64}$/
const ADDRESS_TOPIC = /^0x0{24}([0-9a-f]{40})$/
const QUANTITY = /^0x[0-9a-f]{1,16}$/
const WORD = /^0x[0-9a-f]{64}$/

export const quantity = (value: number): string => `0x${value.toString(16)}`
const topicOf = (address: string): string => `0x${address.slice(2).padStart(64, '0')}`

type Fields = Record<string, unknown>
const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null

export class Chain {
  readonly node: number
  readonly #rpc: Rpc
  readonly #token: Token
  #known = false

  constructor(rpc: Rpc, token: Token) {
    this.node = rpc.node
    this.#rpc = rpc
    this.#token = token
  }

  /** What a node says that cannot be. Asked again, or asked of another machine behind the same address, it may be right. */
  #odd(what: string): ProviderAway {
    return new ProviderAway(`node ${this.node}: ${what} cannot be read`)
  }

  #number(value: unknown, what: string): number {
    if (typeof value !== 'string' || !QUANTITY.test(value)) throw this.#odd(what)
    const number = Number(BigInt(value))
    if (!Number.isSafeInteger(number)) throw this.#odd(what)
    return number
  }

  #time(value: unknown): number {
    const seconds = this.#number(value, 'the time of a block')
    if (seconds > LATEST_S) throw this.#odd('the time of a block')
    return seconds * 1_000
  }

  /** Whether this is the chain and the token of the config. Throws ProviderRefuses; a node that was right is not asked again. */
  async prove(): Promise<void> {
    if (this.#known) return
    const { chainId, contract } = this.#token
    const wrong = (what: string) => new ProviderRefuses(`node ${this.node}: ${what}`)
    const found = this.#number(await this.#rpc.call('eth_chainId', []), 'the chain id')
    if (found !== chainId) throw wrong(`it is a node of the chain ${found}, not of ${chainId}`)
    const code = await this.#rpc.call('eth_getCode', [contract, 'latest'])
    if (typeof code !== 'string' || code === '0x') throw wrong(`there is no contract at ${contract}`)
    const decimals = await this.#rpc.call('eth_call', [{ to: contract, data: DECIMALS_CALL }, 'latest'])
    if (typeof decimals !== 'string' || !WORD.test(decimals)) throw wrong(`${contract} has no decimals()`)
    if (BigInt(decimals) !== DECIMALS) throw wrong(`${contract} has ${BigInt(decimals)} decimals, not ${DECIMALS}`)
    this.#known = true
  }

  /** null = the node does not have the block. While nothing is final, some nodes answer with an error. */
  async block(which: number | 'finalized' | 'latest'): Promise<Block | null> {
    const tag = typeof which === 'number' ? quantity(which) : which
    let block: unknown
    try {
      block = await this.#rpc.call('eth_getBlockByNumber', [tag, false])
    } catch (error) {
      if (error instanceof NodeError && which !== 'latest' && !error.isBusy) return null
      throw error
    }
    if (block === null) return null
    if (!isFields(block) || typeof block['hash'] !== 'string' || !HASH.test(block['hash'])) throw this.#odd('a block')
    const no = this.#number(block['number'], 'a block')
    if (typeof which === 'number' && no !== which) throw this.#odd('a block')
    return { no, hash: block['hash'], atMs: this.#time(block['timestamp']) }
  }

  /** Transfers to addresses, or from them. Throws NodeError when the node refuses as many blocks, or as many logs. */
  async transfers(
    fromNo: number,
    toNo: number,
    way: 'to' | 'from',
    addresses: ReadonlySet<string>,
  ): Promise<Transfer[]> {
    const { contract } = this.#token
    const watched = [...addresses].map(topicOf)
    const topics = way === 'to' ? [TRANSFER, null, watched] : [TRANSFER, watched]
    const range = { fromBlock: quantity(fromNo), toBlock: quantity(toNo) }
    const logs = await this.#rpc.call('eth_getLogs', [{ address: contract, ...range, topics }])
    if (!Array.isArray(logs)) throw this.#odd('the logs')
    return logs.flatMap(log => {
      const transfer = this.#transfer(log)
      const { no } = transfer.block
      if (no < fromNo || no > toNo || !addresses.has(transfer[way])) throw this.#odd('a log that was not asked for')
      return transfer.value === 0n ? [] : [transfer]
    })
  }

  /** Whether there is any transfer of the token in some blocks, whoever pays whom. */
  async hasTransfers(fromNo: number, toNo: number): Promise<boolean> {
    const range = { fromBlock: quantity(fromNo), toBlock: quantity(toNo) }
    const logs = await this.#rpc.call('eth_getLogs', [{ address: this.#token.contract, ...range, topics: [TRANSFER] }])
    if (!Array.isArray(logs)) throw this.#odd('the logs')
    return logs.length > 0
  }

  #isTransfer({ address, topics }: Fields): boolean {
    const ours = String(address).toLowerCase() === this.#token.contract
    return ours && Array.isArray(topics) && topics.length === 3 && topics[0] === TRANSFER
  }

  #transfer(log: unknown): Transfer {
    if (!isFields(log) || log['removed'] === true || !this.#isTransfer(log)) throw this.#odd('a log')
    const { topics, data, transactionHash: tx, blockHash: hash } = log
    const [sender, receiver] = (topics as unknown[]).slice(1).map(topic => ADDRESS_TOPIC.exec(String(topic))?.[1])
    if (sender === undefined || receiver === undefined) throw this.#odd('a log')
    if (![tx, hash].every(text => typeof text === 'string' && HASH.test(text)) || !WORD.test(String(data)))
      throw this.#odd('a log')
    return {
      tx: tx as string,
      logIndex: this.#number(log['logIndex'], 'a log'),
      from: `0x${sender}`,
      to: `0x${receiver}`,
      value: BigInt(data as string),
      block: { no: this.#number(log['blockNumber'], 'a log'), hash: hash as string },
    }
  }

  /**
   * What the node says of a transfer that another node has reported: `same`, `other` (it failed, stands in another block, or
   * moved something else), or `unknown` (the node may be behind). Its block must be final here too: the node that reported it
   * may call final whatever it likes.
   */
  async confirms({ tx, logIndex, from, to, value, block }: Transfer): Promise<'same' | 'other' | 'unknown'> {
    const final = await this.block('finalized')
    if (final === null || final.no < block.no) return 'unknown'
    const receipt = await this.#rpc.call('eth_getTransactionReceipt', [tx])
    if (receipt === null) return 'unknown'
    if (!isFields(receipt) || !Array.isArray(receipt['logs'])) throw this.#odd('a receipt')
    if (receipt['blockHash'] !== block.hash || receipt['status'] !== SUCCESS) return 'other'
    const log: unknown = receipt['logs'].find(found => isFields(found) && found['logIndex'] === quantity(logIndex))
    if (!isFields(log) || !this.#isTransfer(log)) return 'other'
    const found = this.#transfer(log)
    const same = found.tx === tx && found.from === from && found.to === to && found.value === value
    if (!same || found.block.hash !== block.hash) return 'other'
    // A receipt of a block that the node has left for another one would name it all the same.
    const stands = await this.block(block.no)
    return stands === null ? 'unknown' : stands.hash === block.hash ? 'same' : 'other'
  }

  /**
   * What a transaction moved to an address, and when. null = the node does not know it, or it is not final yet; a transaction
   * that failed moved nothing.
   */
  async moved(tx: string, to: string): Promise<{ value: bigint; atMs: number } | null> {
    const receipt = await this.#rpc.call('eth_getTransactionReceipt', [tx])
    if (receipt === null) return null
    if (!isFields(receipt) || !Array.isArray(receipt['logs'])) throw this.#odd('a receipt')
    const no = this.#number(receipt['blockNumber'], 'a receipt')
    const final = await this.block('finalized')
    const block = final === null || final.no < no ? null : await this.block(no)
    if (block === null || block.hash !== receipt['blockHash']) return null
    const logs = receipt['status'] === SUCCESS ? receipt['logs'] : []
    const transfers = logs.filter(log => isFields(log) && this.#isTransfer(log)).map(log => this.#transfer(log))
    return {
      value: transfers.reduce((sum, found) => (found.to === to ? sum + found.value : sum), 0n),
      atMs: block.atMs,
    }
  }

  async balance(address: string, blockNo: number): Promise<bigint> {
    const call = { to: this.#token.contract, data: BALANCE_CALL + topicOf(address).slice(2) }
    const word = await this.#rpc.call('eth_call', [call, quantity(blockNo)])
    if (typeof word !== 'string' || !WORD.test(word)) throw this.#odd('a balance')
    return BigInt(word)
  }
}

/** The node answers with an error of its own. */
export class NodeError extends Error {
  override name = 'NodeError'
  readonly code: number
  /** True when the node has been asked too often, which says nothing of what it was asked. */
  readonly isBusy: boolean

  constructor(node: number, code: number, message: string, isBusy = false) {
    super(`node ${node}: ${code} ${message}`)
    this.code = code
    this.isBusy = isBusy
  }
}

const OK = 200
const TOO_LARGE = 413
const TOO_MANY = 429
/** How providers of nodes say that they were asked too often, where the status does not. */
const BUSY = /rate.?limit|too many requests|requests? per second|compute units per second|quota|throughput/i
const LONGEST_MESSAGE = 200
/** Logs of a thousand busy blocks. */
const MOST_BYTES = 16 * 2 ** 20

type CountAnswer = (node: number, kind: 'away' | 'refused' | 'answered') => void

export class Rpc {
  /** Which of the nodes of the config, from 1. */
  readonly node: number
  readonly #url: string
  readonly #count: CountAnswer
  #id = 0

  constructor(url: string, node: number, count: CountAnswer) {
    this.#url = url
    this.node = node
    this.#count = count
  }

  /** Throws NodeError, or ProviderAway when there is no answer that can be read: an overloaded node sends a page of HTML. */
  async call(method: string, params: readonly unknown[]): Promise<unknown> {
    const id = ++this.#id
    const away = (reason: string) => {
      this.#count(this.node, 'away')
      return new ProviderAway(`node ${this.node}: ${method}: ${reason}`)
    }
    const refused = (code: number, message: string, isBusy = false) => {
      this.#count(this.node, 'refused')
      return new NodeError(this.node, code, message.slice(0, LONGEST_MESSAGE), isBusy)
    }
    const asked = await ask(this.#url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id, method, params }),
      mostBytes: MOST_BYTES,
    }).catch(error => {
      throw error instanceof AnswerTooLarge ? refused(TOO_LARGE, 'too large') : away((error as Error).message)
    })
    const answer = read(asked.body)
    if (answer?.error !== undefined && answer.error !== null) {
      const { code, message } = answer.error
      const isBusy = asked.status === TOO_MANY || Number(code) === TOO_MANY || BUSY.test(String(message))
      throw refused(Number(code), String(message), isBusy)
    }
    if (asked.status === TOO_LARGE) throw refused(TOO_LARGE, 'too large')
    if (asked.status !== OK || answer === null || answer.id !== id || answer.result === undefined)
      throw away(`status ${asked.status}, and no answer to the question`)
    this.#count(this.node, 'answered')
    return answer.result
  }
}

interface Answer {
  id?: unknown
  result?: unknown
  error?: { code?: unknown; message?: unknown } | null
}

function read(body: Buffer): Answer | null {
  try {
    const answer: unknown = JSON.parse(body.toString('utf8'))
    return typeof answer === 'object' && answer !== null && !Array.isArray(answer) ? answer : null
  } catch {
    return null
  }
}

const MOST_BLOCKS = 1_000
/** Nodes take at most a thousand topics in one place. */
const MOST_ADDRESSES = 500
const PAGE = 1_000

/** For how long a size that the node has refused is not asked for again. */
const REMEMBERED_MS = 60 * 60_000
/** Sizes are tried between the largest that was taken and the smallest that was not until they are as close as a part of this. */
const CLOSE = 8

/** How many blocks a node is asked about at once. */
class WindowSize {
  readonly #clock: Pick<Clock, 'monotonic'>
  /** The next window's. */
  blocks = MOST_BLOCKS
  /** The smallest that was refused lately; null = none. */
  #refused: { blocks: number; at: number } | null = null

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock
  }

  taken(blocks: number): void {
    if (blocks < this.blocks) return // it was the rest of a range, and says nothing of longer ones
    const now = this.#clock.monotonic()
    if (this.#refused !== null && now - this.#refused.at >= REMEMBERED_MS) this.#refused = null
    const bound = this.#refused?.blocks ?? Number.POSITIVE_INFINITY
    const between = Math.floor((blocks + bound) / 2)
    if (bound === Number.POSITIVE_INFINITY) this.blocks = Math.min(MOST_BLOCKS, blocks * 2)
    else if (between - blocks > blocks / CLOSE) this.blocks = between
    else this.blocks = blocks
  }

  /** Without an answer nobody knows whether the window was too long: a shorter one is tried next, and nothing is remembered. */
  failed(blocks: number, isRefused: boolean): void {
    this.blocks = Math.max(1, Math.floor(blocks / 2))
    if (isRefused) this.#refused = { blocks, at: this.#clock.monotonic() }
  }
}

export class Reader {
  readonly chain: Chain
  readonly #size: WindowSize

  constructor(chain: Chain, clock: Pick<Clock, 'monotonic'>) {
    this.chain = chain
    this.#size = new WindowSize(clock)
  }

  /** The transfers after block `fromNo` up to some block, at most `toNo`. Which one, the answer says. */
  async window(
    fromNo: number,
    toNo: number,
    way: 'to' | 'from',
    addresses: readonly string[],
  ): Promise<{ toNo: number; transfers: Transfer[] }> {
    if (addresses.length === 0) return { toNo, transfers: [] }
    for (;;) {
      const last = Math.min(toNo, fromNo + this.#size.blocks)
      const asked = last - fromNo
      try {
        const transfers: Transfer[] = []
        for (let i = 0; i < addresses.length; i += MOST_ADDRESSES) {
          const chunk = new Set(addresses.slice(i, i + MOST_ADDRESSES))
          transfers.push(...(await this.chain.transfers(fromNo + 1, last, way, chunk)))
        }
        this.#size.taken(asked)
        return { toNo: last, transfers }
      } catch (error) {
        const isRefused = error instanceof NodeError && !error.isBusy
        this.#size.failed(asked, isRefused)
        if (!isRefused || asked === 1) throw error
      }
    }
  }

  /** Adds to transfers whose they are, and the times of their blocks. A node that is behind may not have one of the blocks. */
  async dated(
    transfers: readonly Transfer[],
    whose: ReadonlyMap<string, ChainAddress>,
    sandbox: boolean,
  ): Promise<NewTransfer[]> {
    const times = new Map<number, number>()
    const found: NewTransfer[] = []
    for (const transfer of transfers) {
      const { no, hash } = transfer.block
      if (!times.has(no)) {
        const block = await this.chain.block(no)
        if (block?.hash !== hash)
          throw new ProviderAway(`node ${this.chain.node}: a log of a block that it does not have`)
        times.set(no, block.atMs)
      }
      const { accountId } = whose.get(transfer.to) as ChainAddress
      found.push({ ...transfer, accountId, blockAtMs: times.get(no) as number, node: this.chain.node, sandbox })
    }
    return found
  }
}

/** The addresses of a chain, as far as they have been issued. New ones are read from the store as they come. */
export class Watched {
  readonly byAddress = new Map<string, ChainAddress>()
  readonly #store: Store
  readonly #chainId: number
  #last = -1

  constructor(store: Store, chainId: number) {
    this.#store = store
    this.#chainId = chainId
  }

  /** Gives the addresses for which the chain has not been read from their issue to the cursor. */
  get fresh(): ChainAddress[] {
    return [...this.byAddress.values()].filter(({ watched }) => !watched)
  }

  async load(): Promise<void> {
    for (let more = true; more; ) {
      const page = await this.#store.chain.addresses(this.#chainId, this.#last, PAGE)
      for (const row of page) this.byAddress.set(row.address, row)
      this.#last = page.at(-1)?.number ?? this.#last
      more = page.length === PAGE
    }
  }

  async caughtUp(rows: readonly ChainAddress[]): Promise<void> {
    if (rows.length === 0) return
    await this.#store.chain.addressesWatched(
      this.#chainId,
      rows.map(({ number }) => number),
    )
    for (const row of rows) this.byAddress.set(row.address, { ...row, watched: true })
  }
}
