;;; sould-project.el --- Projects under review  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; The connection of each project to its review: one `sould lsp' for each, beside whatever language servers its buffers have,
;; because a buffer that eglot manages has room for one server only.  It keeps what is pending, file by file, and says when that
;; is another.  It draws nothing and asks the user nothing.

;;; Code:

(require 'cl-lib)
(require 'subr-x)
(require 'project)
(require 'url-util)
(require 'sould-rpc)

(cl-defstruct (sould-project (:constructor sould-project--make) (:copier nil))
  "A project and the connection that reviews it.
ROOT is its directory.  READY is non-nil from the server's answer to
`initialize' on.  FILES has what is pending by path, COMMENTS what the
user has to say to the agent and has not sent.  DECIDED are the decisions
that were made here, newest first, each a list of ids of hunks.  ASKED counts
what is to be answered before what WAITS, functions in their order, is
called.  FAILURES counts ends of the program since it was ready last."
  root rpc ready (files (make-hash-table :test #'equal)) comments decided (asked 0) waits (failures 0))

(defvar sould-project-all nil "All projects that have a connection, or had one.")

(defvar sould-project-changed-functions nil
  "Called with a project and the paths whose hunks are others now; t means all.")

(defvar sould-project-decided-functions nil
  "Called with a project and the decisions that were made since the last call.")

(defvar sould-project-ready-functions nil
  "Called with a project whose server does not know yet what is open.")

(defvar sould-project-write-function #'ignore
  "Called with the parameters of `_sould/review/write'; returns the answer.")

(defvar sould-project-call-function #'ignore
  "Called with the parameters of `_sould/editor/call', and what takes the answer.")

(defvar sould-project-told-functions nil
  "Called with a project, a notification and its parameters.")

(defvar-local sould-project--of-buffer nil "The project of this buffer.")

(defcustom sould-connection-attempts 5
  "How often `sould' is started for a project while it ends at once."
  :type 'natnum
  :group 'sould)

;;;; Which

(defun sould-project-find-root ()
  "The directory in which the current buffer's project begins."
  (let ((found (project-current)))
    (file-truename (file-name-as-directory (if found (project-root found) default-directory)))))

(defun sould-project-current (&optional start)
  "The project of the current buffer, nil when it has no connection.
With START, it has one then."
  (let ((project (or sould-project--of-buffer
                     (cl-find (sould-project-find-root) sould-project-all :key #'sould-project-root :test #'equal))))
    (when (and start (not project))
      (setq project (sould-project--make :root (sould-project-find-root)))
      (push project sould-project-all))
    (when (and start (not (sould-rpc-live-p (sould-project-rpc project))))
      (sould-project--connect project))
    (when project
      (setq sould-project--of-buffer project))))

(defun sould-project-file (project path)
  "What is pending in the file PATH of PROJECT: a plist, or nil."
  (gethash path (sould-project-files project)))

(defun sould-project-paths (project)
  "The files of PROJECT with pending hunks, in order."
  (sort (seq-filter (lambda (path) (plist-get (sould-project-file project path) :hunks))
                    (hash-table-keys (sould-project-files project)))
        #'string<))

(defun sould-project-hunks (project)
  "All pending hunks of PROJECT, by file and from the top."
  (mapcan (lambda (path) (copy-sequence (plist-get (sould-project-file project path) :hunks)))
          (sould-project-paths project)))

;;;; The connection

(defun sould-project--connect (project)
  "Start the program for PROJECT, and introduce the editor."
  (setf (sould-project-ready project) nil
        (sould-project-rpc project)
        (sould-rpc-start "lsp" (sould-project-root project) :headers t
                         :on-request (lambda (method params reply _id) (sould-project--asked method params reply))
                         :on-notification (lambda (method params) (sould-project--told project method params))
                         :on-end (lambda (_why) (sould-project--ended project))))
  (sould-rpc-request (sould-project-rpc project) "initialize" (sould-project--introduction project)
                     (lambda (_answer) (sould-project--begin project))))

(defun sould-project--introduction (project)
  "The parameters of `initialize' for PROJECT."
  (let ((uri (sould-project-uri (sould-project-root project))))
    (list :processId (emacs-pid)
          :clientInfo (list :name "Emacs" :version emacs-version)
          :rootUri uri
          :workspaceFolders (vector (list :uri uri :name (file-name-nondirectory
                                                          (directory-file-name (sould-project-root project)))))
          :capabilities '(:general (:positionEncodings ["utf-16"])
                          :textDocument (:synchronization (:didSave t))
                          :experimental (:sould (:writes t))))))

(defun sould-project--begin (project)
  "Ask what is pending in PROJECT, and say what is open."
  (setf (sould-project-ready project) t
        (sould-project-failures project) 0)
  (sould-rpc-notify (sould-project-rpc project) "initialized" nil)
  (sould-project--subscribe project)
  (run-hook-with-args 'sould-project-ready-functions project))

(defun sould-project--subscribe (project)
  "Be told from now on what is pending in PROJECT."
  (sould-project-request project "subscribe" nil (lambda (answer) (sould-project--all project answer))))

(defun sould-project--ended (project)
  "Start the program of PROJECT again, unless it ends again and again."
  (setf (sould-project-ready project) nil)
  (if (< (cl-incf (sould-project-failures project)) sould-connection-attempts)
      (run-at-time 1 nil #'sould-project--again project)
    (message "sould: the connection to %s has ended; `sould-reconnect' starts it again" (sould-project-root project))))

(defun sould-project--again (project)
  "Connect PROJECT if it is still known and not connected."
  (when (and (memq project sould-project-all) (not (sould-rpc-live-p (sould-project-rpc project))))
    (sould-project--connect project)))

(defun sould-project-forget (project)
  "End the connection of PROJECT."
  (setq sould-project-all (delq project sould-project-all))
  (sould-rpc-stop (sould-project-rpc project)))

(defun sould-project-uri (path)
  "The URI of the file PATH."
  (concat "file://" (url-hexify-string (directory-file-name path) url-path-allowed-chars)))

;;;; Asking

(defun sould-project--params (project params)
  "PARAMS of a request below `_sould/review', in PROJECT."
  (append (list :cwd (directory-file-name (sould-project-root project))) params))

(defun sould-project-request (project name params on-result &optional on-error)
  "Ask `_sould/review/NAME' with PARAMS in PROJECT.
ON-RESULT takes the answer, ON-ERROR the error."
  (sould-rpc-request (sould-project-rpc project) (concat "_sould/review/" name)
                     (sould-project--params project params) on-result on-error))

(defun sould-project-notify (project method params)
  "Send METHOD with PARAMS when the server of PROJECT is ready for it."
  (when (and (sould-project-ready project) (sould-rpc-live-p (sould-project-rpc project)))
    (sould-rpc-notify (sould-project-rpc project) method params)))

;;;; Being told

(defun sould-project--asked (method params reply)
  "Answer the server's request METHOD with PARAMS through REPLY."
  (pcase method
    ("_sould/review/write" (funcall reply (funcall sould-project-write-function params)))
    ("_sould/editor/call" (funcall sould-project-call-function params reply))
    ("workspace/configuration" (funcall reply (make-vector (length (plist-get params :items)) :null)))
    (_ (funcall reply :null))))

(defun sould-project--told (project method params)
  "Take the notification METHOD with PARAMS of the server of PROJECT."
  (pcase method
    ("_sould/review/changed" (sould-project--changed project params))
    ("_sould/review/forgotten" (run-hook-with-args 'sould-project-ready-functions project))
    ("window/showMessage" (message "sould: %s" (plist-get params :message))))
  (run-hook-with-args 'sould-project-told-functions project method params))

(defun sould-project--changed (project news)
  "Take NEWS about PROJECT."
  (when (plist-get news :comments)
    (setf (sould-project-comments project) (plist-get news :comments)))
  (let ((others (plist-get news :others)))
    (cond ((plist-get news :everything)
           (sould-project-request project "list" nil (lambda (answer) (sould-project--all project answer))))
          (others
           (sould-project-request project "list" (list :paths (vconcat others))
                                  (lambda (answer) (sould-project--some project others (plist-get answer :files)))))))
  (let ((files (plist-get news :files)))
    (sould-project--some project (mapcar (lambda (file) (plist-get file :path)) files) files))
  (when (plist-get news :decisions)
    (run-hook-with-args 'sould-project-decided-functions project (plist-get news :decisions))))

(defun sould-project--all (project answer)
  "What is pending in PROJECT is what ANSWER lists."
  (setf (sould-project-comments project) (plist-get answer :comments))
  (clrhash (sould-project-files project))
  (sould-project--take project (plist-get answer :files))
  (run-hook-with-args 'sould-project-changed-functions project t))

(defun sould-project--some (project paths files)
  "What is pending in PATHS of PROJECT is what FILES list."
  (when paths
    (dolist (path paths)
      (remhash path (sould-project-files project)))
    (sould-project--take project files)
    (run-hook-with-args 'sould-project-changed-functions project paths)))

(defun sould-project-drop (project ids)
  "Hunks with these IDS are pending no more in PROJECT.
Its own news of that may come later."
  (let (paths)
    (dolist (file (hash-table-values (sould-project-files project)))
      (let ((left (seq-remove (lambda (hunk) (memq (plist-get hunk :id) ids)) (plist-get file :hunks)))
            (path (plist-get file :path)))
        (unless (= (length left) (length (plist-get file :hunks)))
          (push path paths)
          (if (or left (plist-get file :streaming))
              (puthash path (plist-put (copy-sequence file) :hunks left) (sould-project-files project))
            (remhash path (sould-project-files project))))))
    (run-hook-with-args 'sould-project-changed-functions project paths)))

(defun sould-project--take (project files)
  "Keep FILES of PROJECT that have hunks, or will soon."
  (dolist (file files)
    (when (or (plist-get file :hunks) (plist-get file :streaming))
      (puthash (plist-get file :path) file (sould-project-files project)))))

(provide 'sould-project)
;;; sould-project.el ends here
