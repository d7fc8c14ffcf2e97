;;; sould-agent.el --- Sessions with agents  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; One `sould acp' for all sessions of this editor, started when the first chat, prompt or question wants it.  It keeps what each
;; session is, runs and asks; who shows that is told through `sould-agent-functions'.  It draws nothing, and answers nothing by
;; itself.

;;; Code:

(require 'cl-lib)
(require 'subr-x)
(require 'sould-rpc)

(cl-defstruct (sould-session (:constructor sould-session--make) (:copier nil))
  "A session that is open here.
ID and ROOT say which; TITLE is its name.  RUNNING counts its prompts
that have no answer yet, ASKED are its open questions, oldest first,
BUFFER shows it.  OPTIONS are those of the protocol, such as its mode.
ATTACHED is nil after the connection has ended."
  id root title (running 0) asked buffer options attached)

(cl-defstruct (sould-question (:constructor sould-question--make) (:copier nil))
  "Something a SESSION asks.
ID is that of the request, CALL the tool call it is about, OPTIONS are
its possible answers, and REPLY takes the answer."
  id session call options reply)

(defvar sould-agent--rpc nil "The connection.")
(defvar sould-agent-sessions nil "The sessions that are open here, last used first.")

(defvar sould-agent-functions nil
  "Called with a session, what happened, and its parameters.
What happens: `update' (an update of the protocol), `asked' and
`answered' (a question, and in words how it was answered), `begin' (the
text of a prompt of ours), `end' (a reason or an error in words, or nil)
and `gone' (a sentence).")

(defvar sould-agent-notification-functions nil
  "Called with the method and parameters of what is about no session.")

(defvar sould-agent-ended-hook nil
  "Run when the connection has ended.")

(defun sould-agent--tell (session what params)
  "Tell everybody WHAT happened in SESSION, with PARAMS."
  (run-hook-with-args 'sould-agent-functions session what params)
  (force-mode-line-update t))

;;;; The connection

(defun sould-agent-connection ()
  "The connection; it is begun if there is none.
Waits for nothing: what is sent is served behind `initialize'."
  (unless (sould-rpc-live-p sould-agent--rpc)
    (setq sould-agent--rpc
          (sould-rpc-start "acp" "~/" :on-request #'sould-agent--asked :on-notification #'sould-agent--told
                           :on-cancel #'sould-agent--withdrawn :on-end #'sould-agent--ended))
    (sould-rpc-request sould-agent--rpc "initialize"
                        (list :protocolVersion 1
                              :clientInfo (list :name "Emacs" :title "Emacs" :version emacs-version)
                              ;; The review connections of projects show the hunks and have the buffers.
                              :clientCapabilities '(:_meta (:sould (:review t))))))
  sould-agent--rpc)

(defun sould-agent--ended (why)
  "No session is attached any more, because of WHY."
  (dolist (session sould-agent-sessions)
    (setf (sould-session-attached session) nil
          (sould-session-running session) 0
          (sould-session-asked session) nil)
    (sould-agent--tell session 'gone why))
  (run-hooks 'sould-agent-ended-hook))

(defun sould-agent--find (id)
  "The open session ID, or nil."
  (cl-find id sould-agent-sessions :key #'sould-session-id :test #'equal))

;;;; Sessions

(defun sould-agent-session (root)
  "The session of the project ROOT that was used last; a new one if there is none."
  (or (seq-find (lambda (session) (equal root (sould-session-root session))) sould-agent-sessions)
      (sould-agent-new root)))

(defun sould-agent-new (root)
  "A new session in the project ROOT."
  (let* ((answer (sould-rpc-call (sould-agent-connection) "session/new"
                                 (list :cwd (directory-file-name root) :mcpServers [])))
         (session (sould-session--make :id (plist-get answer :sessionId) :root root)))
    (sould-agent--opened session answer)
    (push session sould-agent-sessions)
    session))

(defun sould-agent-load (root id title show)
  "Open the stored session ID of the project ROOT, which is called TITLE.
SHOW is called with it before its history comes."
  (let ((session (or (sould-agent--find id) (sould-session--make :id id :root root :title title))))
    (setq sould-agent-sessions (cons session (delq session sould-agent-sessions)))
    (funcall show session)
    (unless (sould-session-attached session)
      (setf (sould-session-attached session) t)
      (sould-rpc-request (sould-agent-connection) "session/load" (sould-agent--opening session)
                         (lambda (answer) (sould-agent--opened session answer))
                         (lambda (failure)
                           (setf (sould-session-attached session) nil)
                           (sould-agent--tell session 'end (plist-get failure :message)))))
    session))

(defun sould-agent--opened (session answer)
  "Take ANSWER, by which SESSION is open here."
  (setf (sould-session-attached session) t
        (sould-session-options session) (plist-get answer :configOptions)))

(defun sould-agent--opening (session)
  "The parameters that open SESSION."
  (list :sessionId (sould-session-id session) :cwd (directory-file-name (sould-session-root session)) :mcpServers []))

(defun sould-agent-list (root)
  "The stored sessions of the project ROOT, newest first, as plists."
  (plist-get (sould-rpc-call (sould-agent-connection) "session/list" (list :cwd (directory-file-name root)))
             :sessions))

(defun sould-agent--attach (session)
  "Open SESSION again if the connection has ended since."
  (unless (and (sould-session-attached session) (sould-rpc-live-p sould-agent--rpc))
    (sould-agent--opened session (sould-rpc-call (sould-agent-connection) "session/resume"
                                                 (sould-agent--opening session)))))

;;;; Prompts

(defun sould-agent-prompt (session text)
  "Give SESSION the prompt TEXT, to be served after those before it."
  (sould-agent--attach session)
  (setq sould-agent-sessions (cons session (delq session sould-agent-sessions)))
  (cl-incf (sould-session-running session))
  (sould-agent--tell session 'begin text)
  (sould-rpc-request sould-agent--rpc "session/prompt"
                     (list :sessionId (sould-session-id session) :prompt (vector (list :type "text" :text text)))
                     (lambda (answer) (sould-agent--done session (sould-agent--reason answer)))
                     (lambda (failure) (sould-agent--done session (plist-get failure :message)))))

(defun sould-agent--reason (answer)
  "Why the turn of ANSWER ended, in words; nil when it just ended."
  (let ((own (plist-get (plist-get answer :_meta) :sould)))
    (pcase (plist-get answer :stopReason)
      ("end_turn" nil)
      ("cancelled" (or (plist-get own :details) "Stopped."))
      (other (format "The turn ended: %s" (string-replace "_" " " (or other "no reason given")))))))

(defun sould-agent--done (session reason)
  "Count a prompt of SESSION as answered; REASON is why it ended, or nil."
  (setf (sould-session-running session) (max 0 (1- (sould-session-running session))))
  (sould-agent--tell session 'end reason))

(defun sould-agent-steer (session text)
  "Say TEXT to SESSION in the middle of its turn; nil when there is none."
  (sould-agent--attach session)
  (let ((answer (sould-rpc-call sould-agent--rpc "_session/steering"
                                (list :sessionId (sould-session-id session)
                                      :prompt (vector (list :type "text" :text text))))))
    (when (equal (plist-get answer :outcome) "injected")
      (sould-agent--tell session 'begin text)
      t)))

(defun sould-agent-cancel (session)
  "Stop what SESSION does."
  (sould-rpc-notify (sould-agent-connection) "session/cancel" (list :sessionId (sould-session-id session))))

;;;; Options

(defun sould-agent-option (session id)
  "The option ID of SESSION, such as its mode: a plist, or nil."
  (sould-agent--attach session)
  (seq-find (lambda (option) (equal (plist-get option :id) id)) (sould-session-options session)))

(defun sould-agent-choose (session id value)
  "Give the option ID of SESSION the VALUE."
  (let ((answer (sould-rpc-call sould-agent--rpc "session/set_config_option"
                                (list :sessionId (sould-session-id session) :configId id :value value))))
    (setf (sould-session-options session) (plist-get answer :configOptions))))

;;;; What comes

(defun sould-agent--told (method params)
  "Take the notification METHOD with PARAMS."
  (if (equal method "session/update")
      (sould-agent--updated params)
    (run-hook-with-args 'sould-agent-notification-functions method params)))

(defun sould-agent--updated (params)
  "Take what PARAMS say of a session."
  (when-let ((session (sould-agent--find (plist-get params :sessionId)))
             (update (plist-get params :update)))
    (when-let ((title (and (equal (plist-get update :sessionUpdate) "session_info_update") (plist-get update :title))))
      (setf (sould-session-title session) title))
    (when-let ((options (and (equal (plist-get update :sessionUpdate) "config_option_update")
                             (plist-get update :configOptions))))
      (setf (sould-session-options session) options))
    (sould-agent--tell session 'update update)))

(defun sould-agent--asked (method params reply id)
  "Keep the request METHOD with PARAMS until it is answered.
REPLY takes the answer, and ID is the request's."
  (let ((session (sould-agent--find (plist-get params :sessionId))))
    (if (not (and session (equal method "session/request_permission")))
        (funcall reply :null)
      (let ((question (sould-question--make :id id :session session :call (plist-get params :toolCall)
                                            :options (plist-get params :options) :reply reply)))
        (setf (sould-session-asked session) (append (sould-session-asked session) (list question)))
        (sould-agent--tell session 'asked question)))))

(defun sould-agent--withdrawn (params)
  "A question was answered elsewhere, or its turn has ended, as PARAMS say."
  (dolist (session sould-agent-sessions)
    (dolist (question (sould-session-asked session))
      (when (equal (sould-question-id question) (plist-get params :requestId))
        (funcall (sould-question-reply question) '(:outcome (:outcome "cancelled")))
        (sould-agent--settle question (or (plist-get (plist-get (plist-get params :_meta) :sould) :reason) "withdrawn"))))))

(defun sould-agent--settle (question how)
  "Close QUESTION; HOW is what became of it, in words."
  (let ((session (sould-question-session question)))
    (setf (sould-session-asked session) (delq question (sould-session-asked session)))
    (sould-agent--tell session 'answered (cons question how))))

(defun sould-agent-answer (question option &optional words)
  "Answer QUESTION with OPTION, one of its own; WORDS are what the agent is told."
  (when (memq question (sould-session-asked (sould-question-session question)))
    (funcall (sould-question-reply question)
             (append (list :outcome (list :outcome "selected" :optionId (plist-get option :optionId)))
                     (when (and words (not (string-empty-p words)))
                       (list :_meta (list :sould (list :feedback words))))))
    (sould-agent--settle question (concat (plist-get option :name) (if words (concat ": " words) "")))))

(defun sould-agent-questions ()
  "All open questions of the sessions that are open here."
  (mapcan (lambda (session) (copy-sequence (sould-session-asked session))) sould-agent-sessions))

(defun sould-agent-mode-line ()
  "Text for the mode line: an agent is working here, or nil."
  (when (seq-some (lambda (session) (> (sould-session-running session) 0)) sould-agent-sessions)
    " working"))

(provide 'sould-agent)
;;; sould-agent.el ends here
