/** A real headless browser, driven over its debugging protocol with nothing but what Node has. */
import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'

const CHROMIUM = '/usr/bin/chromium'
const FLAGS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--remote-debugging-port=0',
]

type Fields = Record<string, unknown>

interface Message {
  id?: number
  method?: string
  params?: Fields
  result?: Fields
  error?: { message: string }
}

export class Browser {
  readonly #child: ChildProcess
  readonly #folder: string
  #socket!: WebSocket
  #page = ''
  #lastId = 0
  readonly #waiting = new Map<number, (message: Message) => void>()
  /** What the page's console and its content security policy complained about. */
  readonly complaints: string[] = []
  /** Every address that was asked for. */
  readonly requested: string[] = []

  private constructor(child: ChildProcess, folder: string) {
    this.#child = child
    this.#folder = folder
  }

  static async open(language: string): Promise<Browser> {
    if (!existsSync(CHROMIUM)) throw new Error(`${CHROMIUM} is missing: install the package chromium`)
    const folder = mkdtempSync(path.join(tmpdir(), 'browser-'))
    const flags = [
      ...FLAGS,
      `--lang=${language}`,
      `--accept-lang=${language}`,
      `--user-data-dir=${folder}`,
      'about:blank',
    ]
    const child = spawn(CHROMIUM, flags, { stdio: ['ignore', 'ignore', 'pipe'] })
    const browser = new Browser(child, folder)
    await browser.#connect(await debuggingAddress(child))
    return browser
  }

  async #connect(address: string): Promise<void> {
    this.#socket = new WebSocket(address)
    this.#socket.addEventListener('message', event => this.#onMessage(JSON.parse(event.data)))
    await new Promise((resolve, reject) => {
      this.#socket.addEventListener('open', resolve)
      this.#socket.addEventListener('error', reject)
    })
    const { targetId } = await this.#send('Target.createTarget', { url: 'about:blank' })
    this.#page = (await this.#send('Target.attachToTarget', { targetId, flatten: true }))['sessionId'] as string
    for (const domain of ['Page', 'Runtime', 'Log', 'Network']) await this.#send(`${domain}.enable`)
  }

  #send(method: string, params: object = {}): Promise<Fields> {
    const id = ++this.#lastId
    const session = this.#page === '' ? {} : { sessionId: this.#page }
    this.#socket.send(JSON.stringify({ id, method, params, ...session }))
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, ({ result, error }) =>
        error === undefined ? resolve(result ?? {}) : reject(new Error(`${method}: ${error.message}`)),
      )
    })
  }

  #onMessage(message: Message): void {
    const { id, method, params = {} } = message
    if (id !== undefined) this.#waiting.get(id)?.(message)
    if (method === 'Log.entryAdded') this.complaints.push((params['entry'] as { text: string }).text)
    if (method === 'Runtime.exceptionThrown') this.complaints.push(JSON.stringify(params['exceptionDetails']))
    if (method === 'Network.requestWillBeSent') this.requested.push((params['request'] as { url: string }).url)
  }

  /** Resolves when the page has loaded and its script has run. */
  async visit(url: string): Promise<void> {
    await this.#send('Page.navigate', { url })
    await this.until("document.readyState === 'complete' && location.href !== 'about:blank'")
  }

  /** The value of an expression, as JSON carries it. */
  async value<T = unknown>(expression: string): Promise<T> {
    const { result, exceptionDetails } = await this.#send('Runtime.evaluate', {
      expression,
      returnByValue: true,
      awaitPromise: true,
      userGesture: true,
    })
    if (exceptionDetails !== undefined) throw new Error(JSON.stringify(exceptionDetails))
    return (result as { value: T }).value
  }

  /** Asks again until the expression is true. */
  async until(expression: string): Promise<void> {
    while (!(await this.value<boolean>(expression))) await new Promise(resolve => setTimeout(resolve, 10))
  }

  emulate(scheme: 'light' | 'dark'): Promise<unknown> {
    return this.#send('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value: scheme }] })
  }

  /** PNG, base64. */
  async picture(width: number, height: number): Promise<string> {
    await this.#send('Emulation.setDeviceMetricsOverride', { width, height, deviceScaleFactor: 1, mobile: width < 500 })
    return (await this.#send('Page.captureScreenshot', { format: 'png', captureBeyondViewport: true }))[
      'data'
    ] as string
  }

  async close(): Promise<void> {
    this.#socket.close()
    const gone = new Promise(resolve => this.#child.once('exit', resolve))
    this.#child.kill('SIGKILL')
    await gone
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 })
  }
}

function debuggingAddress(child: ChildProcess): Promise<string> {
  let said = ''
  return new Promise((resolve, reject) => {
    child.stderr?.on('data', chunk => {
      said += chunk
      const address = /^DevTools listening on (ws:\/\/\S+)/m.exec(said)?.[1]
      if (address !== undefined) resolve(address)
    })
    child.once('exit', code => reject(new Error(`the browser ended with ${code}: ${said}`)))
  })
}
