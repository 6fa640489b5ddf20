/**
 * A chain with the token at its real address, people who pay with it, and nodes in front of the chain that lie when they are
 * told to. The token's code was made from `token/Token.sol` by the compiler and with the settings that `token.json` names.
 */
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Anvil, startAnvil } from '../../support/anvil.ts'

export const USDT_CONTRACT = '0x55d398326f99059ff775485246999027b3197955'
export const TOKEN = 10n ** 18n
/** How often is looked whether a block is there, which takes the chain less than this. */
const BLOCK_MS = 2

const compiled = JSON.parse(readFileSync(new URL('token/token.json', import.meta.url), 'utf8')) as {
  functions: Record<string, string>
  code: string
}

const hex = (value: bigint | number): string => `0x${value.toString(16)}`
const word = (value: bigint | number | string): string =>
  (typeof value === 'string' ? value.slice(2).toLowerCase() : value.toString(16)).padStart(64, '0')

/** The data of a call; lists stand at the end, as the ABI has it. */
export function encode(name: string, ...args: (bigint | string | string[])[]): string {
  const heads: string[] = []
  let tail = ''
  for (const arg of args) {
    if (Array.isArray(arg)) {
      heads.push(word(args.length * 32 + tail.length / 2))
      tail += word(arg.length) + arg.map(word).join('')
    } else heads.push(word(arg))
  }
  return `0x${compiled.functions[name]}${heads.join('')}${tail}`
}

interface Teardown {
  teardown(fn: () => unknown): void
}

export class TestChain {
  readonly anvil: Anvil
  /** Two people with coins for the chain's fees, and with tokens. */
  readonly payer: string
  readonly other: string

  private constructor(anvil: Anvil, [payer, other]: string[]) {
    this.anvil = anvil
    this.payer = payer as string
    this.other = other as string
  }

  static async open(t: Teardown, chainId = 56): Promise<TestChain> {
    const anvil = await startAnvil(t, chainId)
    await anvil.call('anvil_setCode', USDT_CONTRACT, compiled.code)
    const chain = new TestChain(anvil, await anvil.call<string[]>('eth_accounts'))
    for (const person of [chain.payer, chain.other])
      await chain.send(encode('mint(address,uint256)', person, TOKEN ** 2n))
    await chain.mine(5)
    return chain
  }

  /**
   * Sends a transaction, and waits for its block: the chain answers before it makes the block, and a fork at that moment leaves holes
   * in what is final. Returns its hash.
   */
  async send(data: string, { from = this.payer, to = USDT_CONTRACT } = {}): Promise<string> {
    const hash = await this.anvil.call<string>('eth_sendTransaction', { from, to, data, gas: hex(1_000_000) })
    while ((await this.anvil.call('eth_getTransactionReceipt', hash)) === null) await sleep(BLOCK_MS)
    return hash
  }

  /** Pays tokens. The transaction is in a block, and nothing follows it yet. */
  pay(to: string, value: bigint, from = this.payer): Promise<string> {
    return this.send(encode('transfer(address,uint256)', to, value), { from })
  }

  /** Makes blocks. Two make final what was there before. */
  async mine(count = 2): Promise<void> {
    await this.anvil.call('anvil_mine', hex(count))
  }

  async head(): Promise<number> {
    return Number(await this.anvil.call<string>('eth_blockNumber'))
  }

  /** Makes the last blocks anew, without their transactions. */
  async reorg(depth: number): Promise<void> {
    await this.anvil.call('anvil_reorg', depth, [])
  }

  /** Puts a token of the same name at another address. */
  async fakeToken(): Promise<string> {
    const address = `0x${'fa'.repeat(20)}`
    await this.anvil.call('anvil_setCode', address, compiled.code)
    await this.send(encode('mint(address,uint256)', this.payer, TOKEN ** 2n), { to: address })
    return address
  }
}

type Json = Record<string, unknown>
export interface Asked {
  method: string
  // biome-ignore lint/suspicious/noExplicitAny: parameters of any method
  params: any[]
}
/** An answer in the place of the chain's own: a result, an error, or no JSON at all. */
export type Lie = { result: unknown } | { error: { code: number; message: string } } | { status: number; text: string }

/** A node of the chain. `lie` sees every question, and may answer it; `real` asks the chain. */
export class Node {
  readonly asked: Asked[] = []
  url = ''
  lie: (asked: Asked, real: () => Promise<unknown>) => Promise<Lie | null> | Lie | null = () => null

  static async open(t: Teardown, { anvil }: TestChain): Promise<Node> {
    const node = new Node()
    const server = createServer(async (req, res) => {
      const { id, method, params } = JSON.parse(Buffer.concat(await Array.fromAsync(req)).toString()) as Json & Asked
      node.asked.push({ method, params })
      const real = () => anvil.call(method, ...params)
      const lie = await node.lie({ method, params }, real)
      if (lie !== null && 'status' in lie) return res.writeHead(lie.status).end(lie.text)
      const said =
        lie ??
        (await real().then(
          result => ({ result }),
          error => ({ error: { code: -32000, message: String(error) } }),
        ))
      return res
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ jsonrpc: '2.0', id, ...said }))
    })
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    t.teardown(() => {
      server.closeAllConnections()
      server.close()
    })
    node.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    return node
  }

  /** Lies about one method only. */
  about(
    method: string,
    lie: (params: Asked['params'], real: () => Promise<unknown>) => Promise<Lie | null> | Lie | null,
  ): void {
    this.lie = (asked, real) => (asked.method === method ? lie(asked.params, real) : null)
  }

  honest(): void {
    this.lie = () => null
  }
}
