/** What the script has to know of a coding tool: where its package is, how it is started, and what its output means. */
import type { IncomingHttpHeaders } from 'node:http'
import type { Protocol } from '../../lib/protocols/names.ts'

/** One run of a tool, in folders of its own. */
export interface Session {
  /** The tool's home folder. */
  home: string
  /** The folder in which it works. */
  work: string
  /** The address of the gateway. */
  gateway: string
  key: string
  model: string
  prompt: string
  /** The name of the case. */
  asked: string
}

/** What a tool printed, as far as it means something. */
export interface Told {
  text: string
  /** Errors that it shows; empty = none. */
  error: string
  /** Tokens, as the tool counts them; null = it tells none. */
  usage: Tokens | null
}

export interface Tokens {
  /** All input, cached or not. */
  input: number
  cached: number
  output: number
}

/** A request as the gateway, or its upstream, gets it. */
export interface Asked {
  method: string
  path: string
  headers: IncomingHttpHeaders
  body: string
  /** The answer's status; 0 = there is none yet. */
  status: number
  /** The answer so far. */
  answer: string
}

export interface Tool {
  /** Names the row; the tool and what it speaks where it has several rows. */
  name: string
  package: string
  /** Several rows of one tool share a folder of this name. */
  folder?: string
  version: string
  /** Where the package is from; npm unless it says so. */
  registry?: 'pypi'
  /** What makes it ask the gateway, in words of the documentation. */
  settings: string
  /** The command in the package, or the name of the program. */
  bin: string
  /** Packages with their versions that are installed beside it. */
  beside?: readonly string[]
  /** For a library: a program that is run in the place of a command. */
  program?: string
  /** The protocol that it speaks. */
  protocol: Protocol
  /** Requests of a prompt without tools, and what those beside the answer are for. */
  requests: { prompt: number; beside: string }
  /** Its own tool that runs a command in a shell. */
  shell: { name: string; args: (command: string) => object }
  /** How it has the model's provider search the web; absent = it does not. */
  search?: {
    /** Its tool that does so by a request of its own; absent = a search is offered with every request. */
    call?: { name: string; args: (query: string) => object }
    /** What its output has to say of the search. */
    shows?: RegExp
    env?: Record<string, string>
  }
  /** It offers other tools with its last request, so that one does not begin with the one before. */
  changesTools?: true
  /** It has its provider sum up a conversation that gets long, in the case of that name after its first round of tools. */
  compacts?: true
  /** Files of its home folder: settings with which it asks the gateway, and nobody else. */
  files(session: Session): Record<string, string>
  args(session: Session): string[]
  env(session: Session): Record<string, string>
  read(stdout: string, stderr: string): Told
  /** Cases that it cannot do, each with the reason. */
  without?: Readonly<Record<string, string>>
  /** The prompt as it is put to this one. */
  wording?: (prompt: string) => string
  /** Whether a text is the whole of a long answer, for one that shows less of it. */
  isWhole?: (text: string) => boolean
  /** What must be shown of an error, where it says it in words of its own. */
  shows?: Readonly<Record<string, RegExp>>
  /** What is wrong with its requests as they come to the gateway; empty = nothing. */
  sends?: (sent: readonly Asked[]) => string[]
}

/** What is wrong where a header of its prompts must have a value. */
export const headerIs =
  (name: string, value: string) =>
  (sent: readonly Asked[]): string[] =>
    sent
      .filter(({ method, headers }) => method === 'POST' && headers[name] !== value)
      .map(({ headers }) => `${name} is ${headers[name]}, not ${value}`)

/** The JSON values of an output, one a line; other lines are left out. */
export function linesOf(stdout: string): Record<string, unknown>[] {
  return stdout.split('\n').flatMap(line => {
    const value = jsonOf(line)
    return value === null ? [] : [value]
  })
}

/** A JSON object; null = the text is none. */
export function jsonOf(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : null
  } catch {
    return null
  }
}

export const numberOf = (value: unknown): number => (typeof value === 'number' ? value : 0)
export const textOf = (value: unknown): string =>
  typeof value === 'string' ? value : value === undefined || value === null ? '' : JSON.stringify(value)
