/** The coding tools that `npm run test:clients` runs. A further tool is a further file and a line here. */
import type { Tool } from '../tool.ts'
import { aiSdks } from './ai-sdk.ts'
import { aider } from './aider.ts'
import { claudeCodes } from './claude-code.ts'
import { clines } from './cline.ts'
import { codexes } from './codex.ts'
import { continues } from './continue.ts'
import { geminiCli } from './gemini-cli.ts'
import { langchain } from './langchain.ts'
import { opencode } from './opencode.ts'
import { pythonLibraries } from './python.ts'
import { qwenCode } from './qwen-code.ts'

export const TOOLS: readonly Tool[] = [
  ...claudeCodes,
  ...codexes,
  geminiCli,
  qwenCode,
  opencode,
  ...continues,
  ...clines,
  aider,
  ...aiSdks,
  langchain,
  ...pythonLibraries,
]
