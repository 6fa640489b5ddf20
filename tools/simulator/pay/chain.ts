/**
 * A simulated chain with the token of the demo, and the two nodes that the gateway asks. There is a block every second, and one is
 * final when two others have followed it. Everything but the transfers of the demo's payer follows from the number of a block, so that a
 * chain that was stopped is the same one when it starts again; the transfers are kept in a file.
 */
import { HDKey } from '@scure/bip32'
import { createHash, randomBytes } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { http } from '../../../lib/base/http.ts'
import { SIMULATED } from '../../../lib/config/pay-schema.ts'
import { addressOf, bodyOf, listen, type Teardown } from './server.ts'

const TRANSFER = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'
const DECIMALS_CALL = '0x313ce567'
const BLOCK_MS = 1_000
const FINAL_AFTER = 2
/** Others pay each other in every so many blocks, as on a real chain. */
const OTHERS_EVERY = 20
const MOST_TRANSFERS = 1_000
const MOST_LOGGED_BLOCKS = 5_000

/** An extended public key whose private half nobody has kept: the tokens of this chain are worth nothing. */
export const newXpub = (): string => HDKey.fromMasterSeed(randomBytes(32)).derive("m/44'/60'/0'").publicExtendedKey

interface Transfer {
  tx: string
  no: number
  from: string
  to: string
  value: string
}

const hex = (value: number | bigint): string => `0x${value.toString(16)}`
const word = (value: bigint): string => `0x${value.toString(16).padStart(64, '0')}`
const topicOf = (address: string): string => `0x${address.slice(2).padStart(64, '0')}`
const hashOf = (text: string): string => `0x${createHash('sha256').update(text).digest('hex')}`
const blockHash = (no: number): string => hashOf(`simulated block ${no}`)
const STRANGERS = ['0x00000000000000000000000000000000000000a1', '0x00000000000000000000000000000000000000b2'] as const
const PAYER = '0x00000000000000000000000000000000000000c3'

interface Filter {
  fromBlock: string
  toBlock: string
  topics: (string | string[] | null)[]
}

export class SimulatedChain {
  /** Addresses of the two nodes. */
  readonly nodes: string[] = []
  readonly #file: string
  readonly #now: () => number
  readonly #transfers: Transfer[]

  private constructor(file: string, now: () => number) {
    this.#file = file
    this.#now = now
    this.#transfers = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Transfer[]) : []
  }

  /** `file`: where transfers are kept. */
  static async open(t: Teardown, file: string, now: () => number = Date.now): Promise<SimulatedChain> {
    const chain = new SimulatedChain(file, now)
    for (let node = 0; node < 2; node++) {
      const server = http.createServer((req, res) => void chain.#serve(req, res).catch(() => res.destroy()))
      await listen(t, server)
      chain.nodes.push(addressOf(server))
    }
    return chain
  }

  get #head(): number {
    return Math.floor(this.#now() / BLOCK_MS)
  }

  /** The payer sends tokens. `value`: in the token's smallest unit. */
  send(to: string, value: bigint): void {
    const transfer = { tx: `0x${randomBytes(32).toString('hex')}`, no: this.#head, from: PAYER, to: to.toLowerCase() }
    this.#transfers.push({ ...transfer, value: String(value) })
    if (this.#transfers.length > MOST_TRANSFERS) throw new Error('this chain is full')
    writeFileSync(this.#file, JSON.stringify(this.#transfers))
  }

  async #serve(req: import('node:http').IncomingMessage, res: import('node:http').ServerResponse): Promise<void> {
    const { id, method, params } = JSON.parse(await bodyOf(req)) as { id: number; method: string; params: unknown[] }
    const result = this.#answer(method, params)
    const said = result === undefined ? { error: { code: -32601, message: `no such method: ${method}` } } : { result }
    res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ jsonrpc: '2.0', id, ...said }))
  }

  /** undefined = there is no such method. */
  #answer(method: string, params: unknown[]): unknown {
    switch (method) {
      case 'eth_chainId':
        return hex(SIMULATED.usdt.chainId)
      case 'eth_getCode':
        return params[0] === SIMULATED.usdt.contract ? '0x01' : '0x'
      case 'eth_call':
        return this.#call(params[0] as { data: string }, String(params[1]))
      case 'eth_blockNumber':
        return hex(this.#head)
      case 'eth_getBlockByNumber':
        return this.#block(String(params[0]))
      case 'eth_getLogs':
        return this.#logs(params[0] as Filter)
      case 'eth_getTransactionReceipt': {
        const found = this.#transfers.find(({ tx }) => tx === params[0])
        if (found === undefined) return null
        const { no, tx } = found
        return {
          transactionHash: tx,
          status: '0x1',
          blockNumber: hex(no),
          blockHash: blockHash(no),
          logs: [this.#log(found)],
        }
      }
    }
  }

  #number(tag: string): number {
    if (tag === 'latest') return this.#head
    return tag === 'finalized' ? this.#head - FINAL_AFTER : Number(tag)
  }

  #block(tag: string): object | null {
    const no = this.#number(tag)
    if (no > this.#head) return null
    return { number: hex(no), hash: blockHash(no), timestamp: hex(Math.floor((no * BLOCK_MS) / 1_000)) }
  }

  #call({ data }: { data: string }, tag: string): string {
    if (data === DECIMALS_CALL) return word(18n)
    const address = `0x${data.slice(-40)}`
    const no = this.#number(tag)
    const got = this.#transfers.filter(({ to, no: at }) => to === address && at <= no)
    return word(got.reduce((sum, { value }) => sum + BigInt(value), 0n))
  }

  #logs({ fromBlock, toBlock, topics }: Filter): object[] {
    const [from, to] = [Number(fromBlock), Math.min(Number(toBlock), this.#head)]
    const others: Transfer[] = []
    const first = Math.max(from, to - MOST_LOGGED_BLOCKS)
    for (let no = Math.ceil(first / OTHERS_EVERY) * OTHERS_EVERY; no <= to; no += OTHERS_EVERY)
      others.push({ tx: hashOf(`simulated transfer ${no}`), no, from: STRANGERS[0], to: STRANGERS[1], value: '1' })
    const isWanted = (wanted: string | string[] | null | undefined, topic: string): boolean =>
      wanted == null || (Array.isArray(wanted) ? wanted.includes(topic) : wanted === topic)
    return [...others, ...this.#transfers]
      .filter(({ no }) => no >= from && no <= to)
      .filter(row => isWanted(topics[1], topicOf(row.from)) && isWanted(topics[2], topicOf(row.to)))
      .map(row => this.#log(row))
  }

  #log({ tx, no, from, to, value }: Transfer): object {
    return {
      address: SIMULATED.usdt.contract,
      topics: [TRANSFER, topicOf(from), topicOf(to)],
      data: word(BigInt(value)),
      transactionHash: tx,
      blockHash: blockHash(no),
      blockNumber: hex(no),
      logIndex: '0x0',
      removed: false,
    }
  }
}
