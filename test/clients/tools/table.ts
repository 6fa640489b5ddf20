/** The coding tools that `npm run test:clients` runs. A further tool is a further file and a line here. */
import type { Tool } from '../tool.ts'
import { aiSdks } from './ai-sdk.ts'
import { claudeCode } from './claude-code.ts'
import { codex } from './codex.ts'
import { geminiCli } from './gemini-cli.ts'
import { langchain } from './langchain.ts'
import { opencode } from './opencode.ts'

export const TOOLS: readonly Tool[] = [claudeCode, codex, geminiCli, opencode, ...aiSdks, langchain]
